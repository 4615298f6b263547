// SPDX-License-Identifier: BSD-3-Clause
// Operations on a connection.

#include "tests/errors/cases.h"
#include "tests/errors/scenes.h"

namespace rpma::test {
namespace {

// The other side posts a receive, which a request may consume.
const End& ClientWithReceiver(Stage& stage) {
  const Pair& pair = stage.Keep(stage.ConnectedPair());
  EXPECT_THAT(pair.server.Recv(1, 0, 64), IsOk());
  return pair.client;
}

void AddTransfers(Registry& registry) {
  const std::vector<std::string> invalid = {
      "null:conn", "flags:zero",
      "null:dst if:src!=NULL|src_offset!=0|dst_offset!=0|len!=0",
      "null:src if:dst!=NULL|src_offset!=0|dst_offset!=0|len!=0"};
  registry
      .Of("rpma_read",
          [](Stage& stage) {
            const End& end = stage.client();
            return RPMA_CALL(rpma_read, end.conn, end.region->mr(), 8u,
                             end.remote, 16u, 24u, kAlways, Context(1));
          })
      .Inval(invalid)
      .Provider({"call:ibv_post_send"});
  registry
      .Of("rpma_write",
          [](Stage& stage) {
            const End& end = stage.client();
            return RPMA_CALL(rpma_write, end.conn, end.remote, 8u,
                             end.region->mr(), 16u, 24u, kAlways, Context(1));
          })
      .Inval(invalid)
      .Provider({"call:ibv_post_send"});
  registry
      .Of("rpma_write_with_imm",
          [](Stage& stage) {
            const End& end = ClientWithReceiver(stage);
            return RPMA_CALL(rpma_write_with_imm, end.conn, end.remote, 8u,
                             end.region->mr(), 16u, 24u, kAlways, 7u,
                             Context(1));
          })
      .Inval(invalid)
      .Provider({"call:ibv_post_send"});
}

void AddMessages(Registry& registry) {
  const std::vector<std::string> invalid = {"null:conn", "flags:zero",
                                            "null:src if:offset!=0|len!=0"};
  registry
      .Of("rpma_send",
          [](Stage& stage) {
            const End& end = ClientWithReceiver(stage);
            return RPMA_CALL(rpma_send, end.conn, end.region->mr(), 8u, 16u,
                             kAlways, Context(1));
          })
      .Inval(invalid)
      .Provider({"call:ibv_post_send"});
  registry
      .Of("rpma_send_with_imm",
          [](Stage& stage) {
            const End& end = ClientWithReceiver(stage);
            return RPMA_CALL(rpma_send_with_imm, end.conn, end.region->mr(), 8u,
                             16u, kAlways, 7u, Context(1));
          })
      .Inval(invalid)
      .Provider({"call:ibv_post_send"});
  registry
      .Of("rpma_recv",
          [](Stage& stage) {
            const End& end = stage.client();
            return RPMA_CALL(rpma_recv, end.conn, end.region->mr(), 8u, 16u,
                             Context(1));
          })
      .Inval({"null:conn", "null:dst if:offset!=0|len!=0"})
      .Provider({"call:ibv_post_recv"});
}

// --- Atomic write ------------------------------------------------------------

constexpr char kSource[8] = {'a', 't', 'o', 'm', 'i', 'c', 'a', 'l'};

Call AtomicWriteTo(Stage& stage, rpma_mr_remote* dst) {
  return RPMA_CALL(rpma_atomic_write, stage.client().conn, dst, 8u, kSource,
                   kAlways, Context(1));
}

Call AtomicWrite(Stage& stage) {
  return AtomicWriteTo(stage, stage.client().remote);
}

// The offset is aligned, the region is not.
Call AtomicWriteToUnalignedRegion(Stage& stage) {
  LocalMr& mr = stage.Keep(LocalMr());
  EXPECT_THAT(
      rpma_mr_reg(stage.server_peer(), stage.region().bytes().data() + 4, 64,
                  kAllUsages, mr.address()),
      IsOk());
  return AtomicWriteTo(stage, stage.Keep(RemoteOf(mr)));
}

void AddAtomicWrite(Registry& registry) {
  registry.Of("rpma_atomic_write", AtomicWrite)
      .Inval({"null:conn", "null:dst", "null:src", "flags:zero"})
      .Add("RPMA_E_INVAL", "range:dst_offset:not_multiple_of_8",
           {WithNumber("dst_offset", 12)
                .Logging({"offset 12...must be multiples of 8"}),
            Otherwise(AtomicWriteToUnalignedRegion,
                      "offset 8...must be multiples of 8")})
      .Provider({"call:ibv_post_send"});
  registry
      .Of("rpma_atomic_write", AtomicWrite,
          {.options = "native_atomic_write=on"})
      // The last of the calls that ibv_wr_atomic_write(3) consists of.
      .Add("RPMA_E_PROVIDER", "call:ibv_wr_complete if:native_atomic_write",
           Failing("ibv_wr_atomic_write"));
}

// --- Flush -------------------------------------------------------------------

Call FlushOf(const End& end, rpma_mr_remote* dst, rpma_flush_type type) {
  return RPMA_CALL(rpma_flush, end.conn, dst, 8u, 16u, type, kAlways,
                   Context(1));
}

Call FlushTo(Stage& stage, uint8_t peer_cfg, rpma_flush_type type) {
  const End& end = stage.client();
  ApplyPeerCfg(end, peer_cfg);
  return FlushOf(end, end.remote, type);
}

Call FlushToPersistence(Stage& stage) {
  return FlushTo(stage, kDirectWrite, RPMA_FLUSH_TYPE_PERSISTENT);
}

Call FlushWithoutDirectWrite(Stage& stage) {
  return FlushTo(stage, kNothing, RPMA_FLUSH_TYPE_PERSISTENT);
}

Call FlushNatively(Stage& stage) {
  return FlushTo(stage, kDirectWriteAndNativeFlush, RPMA_FLUSH_TYPE_VISIBILITY);
}

// A region that was registered for the other type only.
Call FlushOfOtherType(Stage& stage, rpma_flush_type type) {
  const Pair& pair = stage.Keep(stage.ConnectedPair(
      {.server_usage = type == RPMA_FLUSH_TYPE_PERSISTENT
                           ? RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY
                           : RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT}));
  ApplyPeerCfg(pair.client, kDirectWrite);
  return FlushOf(pair.client, pair.client.remote, type);
}

void AddFlush(Registry& registry) {
  registry.Of("rpma_flush", FlushToPersistence)
      .Inval({"null:conn", "null:dst", "flags:zero"})
      .Add("RPMA_E_INVAL", "range:type:unknown",
           {WithNumber("type", 2), WithNumber("type", -1)})
      .Provider({"call:ibv_post_send"})
      .Add("RPMA_E_NOSUPP",
           "state:direct_write_to_pmem_unset if:type==PERSISTENT",
           Otherwise(FlushWithoutDirectWrite, "flush...persistent memory"))
      .Add("RPMA_E_NOSUPP",
           "state:unsupported_flush_type "
           "if:type==PERSISTENT&dst_usage_lacks_PERSISTENT",
           Otherwise(
               [](Stage& stage) {
                 return FlushOfOtherType(stage, RPMA_FLUSH_TYPE_PERSISTENT);
               },
               "flush...persistent...usage"))
      .Add("RPMA_E_NOSUPP",
           "state:unsupported_flush_type "
           "if:type==VISIBILITY&dst_usage_lacks_VISIBILITY",
           Otherwise(
               [](Stage& stage) {
                 return FlushOfOtherType(stage, RPMA_FLUSH_TYPE_VISIBILITY);
               },
               "flush...visibility...usage"));
  registry
      .Of("rpma_flush", FlushNatively, {.options = "native_flush=on"})
      // The last of the calls that ibv_wr_flush(3) consists of.
      .Add("RPMA_E_PROVIDER", "call:ibv_wr_complete if:native_flush",
           Failing("ibv_wr_flush"));
}

}  // namespace

void AddOperationCases(Registry& registry) {
  AddTransfers(registry);
  AddMessages(registry);
  AddAtomicWrite(registry);
  AddFlush(registry);
}

}  // namespace rpma::test
