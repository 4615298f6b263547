// SPDX-License-Identifier: BSD-3-Clause
// Offers memory, and reports what arrived in it.

#include "tools/quickstart/server.h"

#include <endian.h>

#include <atomic>
#include <utility>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

constexpr int kRegionUsage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
                             RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                             RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
constexpr size_t kStaleRegionSize = 4096;

// Puts the region's descriptor into `offer`.
void DescribeRegion(rpma_mr_local* region, Offer* offer) {
  size_t size = 0;
  Check(rpma_mr_get_descriptor_size(region, &size), "describe a region");
  if (size > sizeof offer->region) throw Failure("region descriptor too long");
  Check(rpma_mr_get_descriptor(region, offer->region), "describe a region");
  offer->region_size = static_cast<uint8_t>(size);
}

// Says that a flush to persistence makes data persistent on this platform.
void DescribePeer(Offer* offer) {
  rpma_peer_cfg* raw = nullptr;
  Check(rpma_peer_cfg_new(&raw), "make a peer configuration");
  const PeerCfgPtr cfg(raw);
  Check(rpma_peer_cfg_set_direct_write_to_pmem(raw, true),
        "set direct write to persistent memory");
  size_t size = 0;
  Check(rpma_peer_cfg_get_descriptor_size(raw, &size), "describe the peer");
  if (size > sizeof offer->config) throw Failure("peer descriptor too long");
  Check(rpma_peer_cfg_get_descriptor(raw, offer->config), "describe the peer");
  offer->config_size = static_cast<uint8_t>(size);
}

EndpointPtr Listen(rpma_peer* peer, const std::string& address,
                   const std::string& port) {
  rpma_ep* endpoint = nullptr;
  Check(rpma_ep_listen(peer, address.c_str(), port.c_str(), &endpoint),
        Text("listen on ", address, " port ", port));
  return EndpointPtr(endpoint);
}

}  // namespace

Server::Server(const std::string& address, const std::string& port,
               size_t region_size, const Signals& signals)
    : signals_(signals),
      peer_(OpenPeer(address, RPMA_UTIL_IBV_CONTEXT_LOCAL)),
      memory_(peer_.get(), region_size, kRegionUsage),
      endpoint_(Listen(peer_.get(), address, port)) {}

void Server::Accept() {
  int fd = -1;
  Check(rpma_ep_get_fd(endpoint_.get(), &fd), "get the endpoint's descriptor");
  signals_.WaitReadable({fd});
  const ConnCfgPtr cfg = NewConnCfg();
  rpma_conn_req* request = nullptr;
  Check(rpma_ep_next_conn_req(endpoint_.get(), cfg.get(), &request),
        "take the client's connection request");
  connection_.emplace(peer_.get(), ConnReqPtr(request), signals_);
}

void Server::OfferRegion() {
  Offer offer;
  DescribeRegion(memory_.region(), &offer);
  DescribePeer(&offer);
  connection_->Send(offer);
}

Receipt Server::ConfirmCommit() {
  const Commit commit = connection_->Receive<Commit>();
  const Receipt receipt = InspectRegion();
  connection_->Send(receipt);
  if (receipt.memory != commit.source) {
    throw Failure(Text("the memory differs from the client's file: SHA-256 ",
                       Hex(receipt.memory), " in place of ",
                       Hex(commit.source)));
  }
  return receipt;
}

Receipt Server::InspectRegion() const {
  // An atomic write: the word is there as a whole or not at all, and if it is,
  // so is the data.
  auto* word = reinterpret_cast<uint64_t*>(memory_.data() + kCommitOffset);
  const uint64_t length =
      le64toh(std::atomic_ref(*word).load(std::memory_order_acquire));
  if (length == 0 || length > memory_.size() - kDataOffset) {
    throw Failure(Text("the commit word says ", length, " bytes, and ",
                       memory_.size() - kDataOffset, " is the most"));
  }
  Sha256Stream stream;
  stream.Update(memory_.data() + kDataOffset, length);
  return {.length = htole64(length), .memory = stream.Finish()};
}

void Server::OfferStaleRegion() {
  Offer offer;
  {
    const Memory memory(peer_.get(), kStaleRegionSize, kRegionUsage);
    DescribeRegion(memory.region(), &offer);
  }
  connection_->Send(offer);
}

}  // namespace rpma::quickstart
