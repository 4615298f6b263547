// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_peer_cfg_*: what a peer tells about itself.

#include "core/peer_cfg.h"

#include <cstdint>
#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"

int rpma_peer_cfg_new(struct rpma_peer_cfg** pcfg_ptr) {
  RPMA_REQUIRE(pcfg_ptr != nullptr);
  return rpma::Create(pcfg_ptr, [](std::unique_ptr<rpma::PeerCfg>* cfg) {
    *cfg = std::make_unique<rpma::PeerCfg>();
    return rpma::Rc::kOk;
  });
}

int rpma_peer_cfg_delete(struct rpma_peer_cfg** pcfg_ptr) {
  RPMA_REQUIRE(pcfg_ptr != nullptr);
  rpma::Take(pcfg_ptr);
  return 0;
}

int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg* pcfg,
                                           bool supported) {
  RPMA_REQUIRE(pcfg != nullptr);
  rpma::FromC(pcfg)->set_direct_write_to_pmem(supported);
  return 0;
}

int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg* pcfg,
                                           bool* supported) {
  RPMA_REQUIRE(pcfg != nullptr);
  RPMA_REQUIRE(supported != nullptr);
  *supported = rpma::FromC(pcfg)->direct_write_to_pmem();
  return 0;
}

int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg* pcfg,
                                      size_t* desc_size) {
  RPMA_REQUIRE(pcfg != nullptr);
  RPMA_REQUIRE(desc_size != nullptr);
  *desc_size = rpma::PeerCfg::kDescriptorSize;
  return 0;
}

int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg* pcfg, void* desc) {
  RPMA_REQUIRE(pcfg != nullptr);
  RPMA_REQUIRE(desc != nullptr);
  *static_cast<uint8_t*>(desc) = rpma::FromC(pcfg)->Descriptor();
  return 0;
}

int rpma_peer_cfg_from_descriptor(const void* desc, size_t desc_size,
                                  struct rpma_peer_cfg** pcfg_ptr) {
  RPMA_REQUIRE(desc != nullptr);
  RPMA_REQUIRE(pcfg_ptr != nullptr);
  RPMA_REQUIRE(desc_size >= rpma::PeerCfg::kDescriptorSize);
  return rpma::Create(pcfg_ptr, [&](std::unique_ptr<rpma::PeerCfg>* cfg) {
    *cfg = std::make_unique<rpma::PeerCfg>(*static_cast<const uint8_t*>(desc));
    return rpma::Rc::kOk;
  });
}
