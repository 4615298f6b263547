// SPDX-License-Identifier: BSD-3-Clause
// The README's example does what the README says.

#include <endian.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tools/quickstart/connection.h"
#include "tools/quickstart/digest.h"
#include "tools/quickstart/library.h"
#include "tools/quickstart/memory.h"
#include "tools/quickstart/message.h"
#include "tools/quickstart/network.h"
#include "tools/quickstart/server.h"

extern "C" int replicate(struct rpma_conn* conn, struct rpma_mr_remote* dst,
                         const struct rpma_mr_local* src, size_t len);

namespace rpma::quickstart {
namespace {

constexpr char kAddress[] = "127.0.0.1";
constexpr char kPort[] = "7471";
constexpr char kData[] = "data";

// A commit word and the data behind it: what the server can confirm.
void FillCommitted(uint8_t* memory) {
  const uint64_t length = htole64(sizeof kData);
  std::memcpy(memory + kCommitOffset, &length, sizeof length);
  std::memcpy(memory + kDataOffset, kData, sizeof kData);
}

Sha256 DigestOfData() {
  Sha256Stream stream;
  stream.Update(kData, sizeof kData);
  return stream.Finish();
}

ConnReqPtr NewRequest(rpma_peer* peer) {
  const ConnCfgPtr cfg = NewConnCfg();
  rpma_conn_req* request = nullptr;
  Check(rpma_conn_req_new(peer, kAddress, kPort, cfg.get(), &request),
        "make a request");
  return ConnReqPtr(request);
}

// Applies the offered peer configuration and returns the offered region.
MrRemotePtr TakeOffer(Connection* client) {
  const Offer offer = client->Receive<Offer>();
  rpma_peer_cfg* cfg = nullptr;
  Check(rpma_peer_cfg_from_descriptor(offer.config, offer.config_size, &cfg),
        "read the peer's descriptor");
  const PeerCfgPtr owner(cfg);
  Check(rpma_conn_apply_remote_peer_cfg(client->get(), cfg), "apply it");
  rpma_mr_remote* region = nullptr;
  Check(
      rpma_mr_remote_from_descriptor(offer.region, offer.region_size, &region),
      "read the region's descriptor");
  return MrRemotePtr(region);
}

TEST(ReadmeTest, TheExampleReplicates) {
  const Signals signals;
  UseEmulatedNetwork();
  Server server(kAddress, kPort, 4096, signals);
  const PeerPtr peer = OpenPeer(kAddress, RPMA_UTIL_IBV_CONTEXT_REMOTE);
  const Memory source(peer.get(), 4096, RPMA_MR_USAGE_WRITE_SRC);
  FillCommitted(source.data());

  Connection client(peer.get(), NewRequest(peer.get()), signals);
  server.Accept();
  client.AwaitEstablished();
  server.connection().AwaitEstablished();
  server.OfferRegion();
  const MrRemotePtr target = TakeOffer(&client);

  EXPECT_EQ(replicate(client.get(), target.get(), source.region(), 4096), 0);
  client.Send(Commit{.source = DigestOfData()});
  EXPECT_NO_THROW(server.ConfirmCommit());
}

}  // namespace
}  // namespace rpma::quickstart
