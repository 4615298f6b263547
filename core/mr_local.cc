// SPDX-License-Identifier: BSD-3-Clause

#include "core/mr_local.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/log.h"

namespace rpma {
namespace {

// The length of one piece of advice has 32 bits; half of that leaves room to
// end on a page.
constexpr size_t kMaxAdvice = size_t{1} << 31;

Rc AdviceRc(Errno error) {
  switch (static_cast<int>(error)) {
    case EOPNOTSUPP:  // ENOTSUP is the same number on Linux
      return Rc::kNoSupp;
    case EINVAL:  // the advice or the flags
    case EFAULT:  // the range
    case EPERM:   // prefetch for writing, and the region is not writable
    case EACCES:
      return Rc::kInval;
    default:
      return Rc::kProvider;
  }
}

}  // namespace

MrLocal::MrLocal(const Peer& peer, void* address, size_t size, int usage)
    : address_(reinterpret_cast<uintptr_t>(address)),
      size_(size),
      usage_(static_cast<uint8_t>(usage)),
      transport_(peer.transport()) {}

Rc MrLocal::Register(const Peer& peer, void* address, size_t size, int usage,
                     std::unique_ptr<MrLocal>* out) {
  std::unique_ptr<MrLocal> mr(new MrLocal(peer, address, size, usage));
  const Rc rc = peer.RegisterMemory(address, size, usage, &mr->mr_);
  if (rc != Rc::kOk) return rc;
  mr->lkey_ = mr->mr_->lkey;
  *out = std::move(mr);
  return Rc::kOk;
}

Rc MrLocal::Advise(size_t offset, size_t length, int advice,
                   uint32_t flags) const {
  if (!Contains(offset, length)) {
    RPMA_LOG(ERROR,
             "advice for %zu bytes at offset %zu of a region of %zu bytes",
             length, offset, size_);
    return Rc::kInval;
  }
  const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  do {
    const size_t into_page = (address_ + offset) % page_size;
    const size_t piece = std::min(length, kMaxAdvice - into_page);
    const Rc rc =
        AdvisePiece(offset, static_cast<uint32_t>(piece), advice, flags);
    if (rc != Rc::kOk) return rc;
    offset += piece;
    length -= piece;
  } while (length > 0);
  return Rc::kOk;
}

Rc MrLocal::AdvisePiece(size_t offset, uint32_t length, int advice,
                        uint32_t flags) const {
  const Errno error =
      transport_.AdviseMr(mr_.get(), offset, length, advice, flags);
  if (error == Errno::kOk) return Rc::kOk;
  RPMA_LOG(ERROR,
           "ibv_advise_mr(addr=%p, length=%u, advice=%d, flags=0x%x) on a "
           "region of usage 0x%x failed: %s",
           reinterpret_cast<void*>(address_ + offset), length, advice, flags,
           static_cast<unsigned>(usage_), log::Reason(error));
  return AdviceRc(error);
}

MrDescriptor MrLocal::Describe() const {
  return {
      .address = address_, .length = size_, .rkey = mr_->rkey, .usage = usage_};
}

}  // namespace rpma
