// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of this program that is registered with a device.

#ifndef RPMA_CORE_MR_LOCAL_H_
#define RPMA_CORE_MR_LOCAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/mr_descriptor.h"
#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// Immutable once registered: any number of threads may use it.
class MrLocal {
 public:
  // See Peer::RegisterMemory(). REQUIRES: size > 0, IsValidUsage(usage)
  static Rc Register(const Peer& peer, void* address, size_t size, int usage,
                     std::unique_ptr<MrLocal>* out);

  // Deregisters the memory, which belongs to the user again. kProvider, with
  // the region as usable as before: the call failed.
  Rc Close() { return mr_.Destroy(); }

  // Tells the device how the range will be used (IBV_ADVISE_MR_ADVICE_*).
  // Ranges larger than one call can take are advised in several, so after a
  // failure a part of the range may have been advised.
  // kInval: the range leaves the region; the device refuses the advice or its
  // flags, or the usage does not allow it. kNoSupp: the device takes no advice.
  // kProvider: the call failed otherwise.
  Rc Advise(size_t offset, size_t length, int advice, uint32_t flags) const;

  MrDescriptor Describe() const;

  bool Contains(size_t offset, size_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }

  uintptr_t address() const { return address_; }
  size_t size() const { return size_; }
  uint32_t lkey() const { return lkey_; }

 private:
  MrLocal(const Peer& peer, void* address, size_t size, int usage);

  Rc AdvisePiece(size_t offset, uint32_t length, int advice,
                 uint32_t flags) const;

  const uintptr_t address_;
  const size_t size_;
  uint32_t lkey_ = 0;
  const uint8_t usage_;
  Transport& transport_;
  OwnedMr mr_;
};

}  // namespace rpma

#endif  // RPMA_CORE_MR_LOCAL_H_
