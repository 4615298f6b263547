// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_mr_*: memory regions, ours and those of a peer.

#include <librpma.h>

#include <array>
#include <cstring>
#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/mr_descriptor.h"
#include "core/mr_local.h"
#include "core/mr_remote.h"
#include "core/mr_usage.h"

int rpma_mr_reg(struct rpma_peer* peer, void* ptr, size_t size, int usage,
                struct rpma_mr_local** mr_ptr) {
  RPMA_REQUIRE(peer != nullptr);
  RPMA_REQUIRE(ptr != nullptr);
  RPMA_REQUIRE(size > 0);
  RPMA_REQUIRE(rpma::IsValidUsage(usage));
  RPMA_REQUIRE(mr_ptr != nullptr);
  return rpma::Create(mr_ptr, [&](std::unique_ptr<rpma::MrLocal>* mr) {
    return rpma::MrLocal::Register(*rpma::FromC(peer), ptr, size, usage, mr);
  });
}

int rpma_mr_dereg(struct rpma_mr_local** mr_ptr) {
  RPMA_REQUIRE(mr_ptr != nullptr);
  return rpma::DeleteIfClosed(mr_ptr);
}

int rpma_mr_get_ptr(const struct rpma_mr_local* mr, void** ptr) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(ptr != nullptr);
  *ptr = reinterpret_cast<void*>(rpma::FromC(mr)->address());
  return 0;
}

int rpma_mr_get_size(const struct rpma_mr_local* mr, size_t* size) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(size != nullptr);
  *size = rpma::FromC(mr)->size();
  return 0;
}

int rpma_mr_advise(struct rpma_mr_local* mr, size_t offset, size_t len,
                   int advice, uint32_t flags) {
  RPMA_REQUIRE(mr != nullptr);
  return rpma::ToC(rpma::FromC(mr)->Advise(offset, len, advice, flags));
}

int rpma_mr_get_descriptor_size(const struct rpma_mr_local* mr,
                                size_t* desc_size) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(desc_size != nullptr);
  *desc_size = rpma::MrDescriptor::kSize;
  return 0;
}

int rpma_mr_get_descriptor(const struct rpma_mr_local* mr, void* desc) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(desc != nullptr);
  const auto bytes = rpma::FromC(mr)->Describe().Encode();
  std::memcpy(desc, bytes.data(), bytes.size());
  return 0;
}

int rpma_mr_remote_from_descriptor(const void* desc, size_t desc_size,
                                   struct rpma_mr_remote** mr_ptr) {
  RPMA_REQUIRE(desc != nullptr);
  RPMA_REQUIRE(mr_ptr != nullptr);
  return rpma::Create(mr_ptr, [&](std::unique_ptr<rpma::MrRemote>* mr) {
    return rpma::MrRemote::FromDescriptor(desc, desc_size, mr);
  });
}

int rpma_mr_remote_delete(struct rpma_mr_remote** mr_ptr) {
  RPMA_REQUIRE(mr_ptr != nullptr);
  rpma::Take(mr_ptr);
  return 0;
}

int rpma_mr_remote_get_size(const struct rpma_mr_remote* mr, size_t* size) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(size != nullptr);
  *size = rpma::FromC(mr)->size();
  return 0;
}

int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote* mr,
                                  int* flush_type) {
  RPMA_REQUIRE(mr != nullptr);
  RPMA_REQUIRE(flush_type != nullptr);
  *flush_type = rpma::FromC(mr)->usage() & rpma::kMrUsageFlushTypes;
  return 0;
}
