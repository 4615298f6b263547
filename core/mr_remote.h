// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a peer, as the peer described it.

#ifndef RPMA_CORE_MR_REMOTE_H_
#define RPMA_CORE_MR_REMOTE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/mr_descriptor.h"
#include "core/rc.h"

namespace rpma {

// Immutable: any number of threads may use it.
class MrRemote {
 public:
  // kInval: fewer than MrDescriptor::kSize bytes, or no usage. kNoSupp: the
  // bytes describe no region that could exist: it is empty, or its end lies
  // beyond the address space. Bytes past the descriptor are ignored.
  static Rc FromDescriptor(const void* bytes, size_t size,
                           std::unique_ptr<MrRemote>* out);

  bool Contains(size_t offset, size_t length) const {
    return offset <= region_.length && length <= region_.length - offset;
  }

  uint64_t address() const { return region_.address; }
  size_t size() const { return region_.length; }
  uint32_t rkey() const { return region_.rkey; }
  int usage() const { return region_.usage; }

 private:
  explicit MrRemote(const MrDescriptor& region) : region_(region) {}

  const MrDescriptor region_;
};

}  // namespace rpma

#endif  // RPMA_CORE_MR_REMOTE_H_
