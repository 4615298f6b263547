// SPDX-License-Identifier: BSD-3-Clause
// Peers and their configurations.

#include <cstdint>

#include "tests/errors/cases.h"

namespace rpma::test {
namespace {

constexpr uint8_t kDescriptor = 1;

Peer& NewPeer(Stage& stage) {
  Peer& peer = stage.Keep(Peer());
  EXPECT_THAT(rpma_peer_new(stage.context(), peer.address()), IsOk());
  return peer;
}

void StillRegistersMemory(Stage& /*stage*/, Call& call) {
  const Region region(call.HandleAt<rpma_peer>("peer_ptr"), 64);
}

PeerCfg& NewPeerCfg(Stage& stage) {
  return stage.New<PeerCfg>(rpma_peer_cfg_new);
}

void AddConfigurations(Registry& registry) {
  registry
      .Of("rpma_peer_cfg_new",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_new,
                             stage.Keep(PeerCfg()).address());
          })
      .Inval({"null:pcfg_ptr"})
      .OutOfMemory();
  registry
      .Of("rpma_peer_cfg_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_delete, NewPeerCfg(stage).address());
          })
      .Inval({"null:pcfg_ptr"});
  registry
      .Of("rpma_peer_cfg_from_descriptor",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_from_descriptor, &kDescriptor,
                             sizeof(kDescriptor),
                             stage.Keep(PeerCfg()).address());
          })
      .Inval({"null:desc", "null:pcfg_ptr"})
      .Add("RPMA_E_INVAL", "range:desc_size:<1", WithNumber("desc_size", 0))
      .OutOfMemory();
  registry
      .Of("rpma_peer_cfg_set_direct_write_to_pmem",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_set_direct_write_to_pmem,
                             NewPeerCfg(stage), true);
          })
      .Inval({"null:pcfg"});
  registry
      .Of("rpma_peer_cfg_get_direct_write_to_pmem",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_get_direct_write_to_pmem,
                             NewPeerCfg(stage), stage.Out<bool>());
          })
      .Inval({"null:pcfg", "null:supported"});
  registry
      .Of("rpma_peer_cfg_get_descriptor",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_get_descriptor, NewPeerCfg(stage),
                             stage.Out<uint8_t>());
          })
      .Inval({"null:pcfg", "null:desc"});
  registry
      .Of("rpma_peer_cfg_get_descriptor_size",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_cfg_get_descriptor_size,
                             NewPeerCfg(stage), stage.Out<size_t>());
          })
      .Inval({"null:pcfg", "null:desc_size"});
}

}  // namespace

void AddPeerCases(Registry& registry) {
  registry
      .Of("rpma_peer_new",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_new, stage.context(),
                             stage.Keep(Peer()).address());
          })
      .Inval({"null:ibv_ctx", "null:peer_ptr"})
      .OutOfMemory()
      .Provider({"call:ibv_query_device_ex"})
      .Add("RPMA_E_NOMEM", "call:ibv_alloc_pd if:errno==ENOMEM",
           Failing("ibv_alloc_pd", ENOMEM))
      .Add("RPMA_E_PROVIDER", "call:ibv_alloc_pd if:errno!=0&errno!=ENOMEM",
           {Failing("ibv_alloc_pd", EIO), Failing("ibv_alloc_pd", EPERM)})
      .Add("RPMA_E_UNKNOWN", "call:ibv_alloc_pd if:errno==0",
           Failing("ibv_alloc_pd", 0));
  registry
      .Of("rpma_peer_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_peer_delete, NewPeer(stage).address());
          })
      .Inval({"null:peer_ptr"})
      .Add("RPMA_E_PROVIDER", "call:ibv_dealloc_pd",
           Failing("ibv_dealloc_pd").Then(StillRegistersMemory));
  AddConfigurations(registry);
}

}  // namespace rpma::test
