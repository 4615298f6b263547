// SPDX-License-Identifier: BSD-3-Clause

#include "core/mr_remote.h"

#include <cinttypes>

#include "core/log.h"

namespace rpma {

Rc MrRemote::FromDescriptor(const void* bytes, size_t size,
                            std::unique_ptr<MrRemote>* out) {
  if (size < MrDescriptor::kSize) {
    RPMA_LOG(ERROR, "a region descriptor has %zu bytes, not %zu",
             MrDescriptor::kSize, size);
    return Rc::kInval;
  }
  const MrDescriptor region = MrDescriptor::Decode(bytes);
  if (region.usage == 0) {
    RPMA_LOG(ERROR, "a region descriptor allows no usage");
    return Rc::kInval;
  }
  if (region.length == 0 || region.length - 1 > UINT64_MAX - region.address) {
    RPMA_LOG(ERROR,
             "a region descriptor describes no region: address 0x%" PRIx64
             ", length %" PRIu64,
             region.address, region.length);
    return Rc::kNoSupp;
  }
  out->reset(new MrRemote(region));
  return Rc::kOk;
}

}  // namespace rpma
