// SPDX-License-Identifier: BSD-3-Clause
// The injector itself harms nobody: whichever call it makes fail, a program
// that makes the call again sees nothing of it, from connecting to the end.

#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/process.h"
#include "tests/support/matchers.h"
#include "tests/support/world.h"
#include "tests/unit/fault/repeating_transport.h"

namespace rpma::test {
namespace {

constexpr char kPlain[] = "127.0.0.1";
constexpr char kNative[] = "192.0.2.7";  // with native flush and atomic write

// Puts a transport between librpma and the fabric that is selected.
class Repetition final : public EmulatorSource {
 public:
  explicit Repetition(Errno repeated) : repeated_(repeated) {}

  void Begin() {
    Transport* of_fabric = nullptr;
    ASSERT_EQ(CurrentTransport(&of_fabric), Rc::kOk);
    transport_.emplace(*of_fabric, repeated_);
    RegisterEmulator(this);
  }
  size_t count() const { return transport_->repetitions(); }

  Transport* Selected() override { return &*transport_; }
  Transport* Default() override { return &*transport_; }
  Transport* Of(const ibv_context*) override { return &*transport_; }

 private:
  const Errno repeated_;
  std::optional<fault::RepeatingTransport> transport_;
};

struct Side {
  explicit Side(ibv_context* context) {
    EXPECT_THAT(rpma_peer_new(context, peer.address()), IsOk());
    region.emplace(peer, 4096);
    EXPECT_THAT(rpma_srq_new(peer, nullptr, srq.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  }

  Peer peer;
  Srq srq;
  ConnCfg cfg;
  std::optional<Region> region;
  End end;
};

ibv_context* ContextOf(const char* address) {
  ibv_context* context = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context(address, RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                         &context),
              IsOk());
  return context;
}

void Refuse(Side& client, rpma_ep* endpoint, const char* address) {
  ConnReq outgoing;
  ASSERT_THAT(rpma_conn_req_new(client.peer, address, "7204", nullptr,
                                outgoing.address()),
              IsOk());
  const Conn refused = Connect(std::move(outgoing));
  World::NextRequest(endpoint).reset();
  EXPECT_EQ(NextEvent(refused), RPMA_CONN_REJECTED);
}

void ConnectSides(Side& client, Side& server, rpma_ep* endpoint,
                  const char* address) {
  ASSERT_THAT(rpma_conn_cfg_set_srq(server.cfg, server.srq), IsOk());
  ASSERT_THAT(rpma_srq_recv(server.srq, server.region->mr(), 0, 64, nullptr),
              IsOk());
  ConnReq outgoing;
  ASSERT_THAT(rpma_conn_req_new(client.peer, address, "7204", client.cfg,
                                outgoing.address()),
              IsOk());
  ASSERT_THAT(
      rpma_conn_req_recv(outgoing, client.region->mr(), 0, 64, Context(1)),
      IsOk());
  client.end.Own(Connect(std::move(outgoing), {1, 2, 3}));
  ConnReq incoming = World::NextRequest(endpoint, server.cfg);
  EXPECT_EQ(PrivateData(incoming)[2], 3);
  server.end.Own(Connect(std::move(incoming)));
  EXPECT_EQ(NextEvent(client.end.conn), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(server.end.conn), RPMA_CONN_ESTABLISHED);
}

void Transfer(Side& client, Side& server) {
  const End& end = client.end;
  rpma_mr_local* const source = client.region->mr();
  const RemoteMr target = server.region->Remote();
  ApplyPeerCfg(end, kDirectWriteAndNativeFlush);
  Number(client.region->bytes(), 5);
  constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
  EXPECT_THAT(
      rpma_write(end.conn, target, 0, source, 0, 256, kAlways, Context(2)),
      IsOk());
  EXPECT_THAT(rpma_flush(end.conn, target, 0, 256, RPMA_FLUSH_TYPE_PERSISTENT,
                         kAlways, Context(3)),
              IsOk());
  const char value[8] = {'a', 't', 'o', 'm', 'i', 'c', 'a', 'l'};
  EXPECT_THAT(
      rpma_atomic_write(end.conn, target, 256, value, kAlways, Context(4)),
      IsOk());
  EXPECT_THAT(
      rpma_read(end.conn, source, 1024, target, 0, 264, kAlways, Context(5)),
      IsOk());
  EXPECT_THAT(rpma_send(end.conn, source, 0, 8, kAlways, Context(6)), IsOk());
  EXPECT_THAT(rpma_send(server.end.conn, server.region->mr(), 0, 8, kAlways,
                        Context(7)),
              IsOk());
  std::vector<uint64_t> completed;
  for (int i = 0; i < 6; ++i) {
    const ibv_wc wc = Poll(end.cq);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    completed.push_back(wc.wr_id);
  }
  std::sort(completed.begin(), completed.end());
  EXPECT_EQ(completed, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  const auto read = client.region->bytes().subspan(1024, 264);
  EXPECT_EQ(read[0], 5 + 0);
  EXPECT_EQ(read[255], 4);
  EXPECT_EQ(read[256], 'a');
  EXPECT_EQ(read[263], 'l');
  rpma_cq* rcq = nullptr;
  ASSERT_THAT(rpma_srq_get_rcq(server.srq, &rcq), IsOk());
  EXPECT_EQ(Poll(rcq).byte_len, 8u);
  EXPECT_EQ(Poll(server.end.cq).wr_id, 7u);
}

// A whole life of two peers on the device of an address.
void Play(const char* address) {
  ibv_context* const context = ContextOf(address);
  Side client(context);
  Side server(context);
  Endpoint endpoint;
  ASSERT_THAT(rpma_ep_listen(server.peer, address, "7204", endpoint.address()),
              IsOk());
  Refuse(client, endpoint, address);
  ConnectSides(client, server, endpoint, address);
  Transfer(client, server);
  EXPECT_THAT(rpma_conn_disconnect(client.end.conn), IsOk());
  EXPECT_EQ(NextEvent(server.end.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(server.end.conn), IsOk());
  EXPECT_EQ(NextEvent(client.end.conn), RPMA_CONN_CLOSED);
}

TEST(HarmlessErrorsTest, AProgramThatRepeatsFailedCallsSeesNothingOfThem) {
  Repetition repetition(Errno{EBADE});
  World world({.extend = [&](Emulation& emulation) {
    emulation.AddDevice("native", "native_flush=on native_atomic_write=on",
                        kNative);
    repetition.Begin();
  }});
  rpma_emu_fabric* const fabric = world.emulation().fabric();
  for (const char* address : {kPlain, kNative}) {
    SCOPED_TRACE(address);
    ASSERT_THAT(rpma_emu_set_faults(fabric, ""), IsOk());
    Play(address);
    rpma_emu_fault_counts counts{};
    ASSERT_THAT(rpma_emu_get_fault_counts(fabric, &counts), IsOk());
    EXPECT_GT(counts.calls, 100u);
    for (uint64_t k = 1; k <= counts.calls && !testing::Test::HasFailure();
         ++k) {
      const std::string plan = "fail any errno=EBADE nth=" + std::to_string(k);
      SCOPED_TRACE(plan);
      ASSERT_THAT(rpma_emu_set_faults(fabric, plan.c_str()), IsOk());
      const size_t before = repetition.count();
      const CensusGuard nothing_is_left(fabric);
      Play(address);
      EXPECT_EQ(repetition.count(), before + 1);
    }
  }
}

}  // namespace
}  // namespace rpma::test
