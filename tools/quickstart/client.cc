// SPDX-License-Identifier: BSD-3-Clause
// Writes, flushes, commits, reads back.

#include "tools/quickstart/client.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/quickstart/completion.h"
#include "tools/quickstart/failure.h"
#include "tools/quickstart/network.h"

namespace rpma::quickstart {
namespace {

constexpr size_t kChunkSize = size_t{256} << 10;

MrRemotePtr RemoteRegion(const Offer& offer) {
  rpma_mr_remote* region = nullptr;
  Check(
      rpma_mr_remote_from_descriptor(offer.region, offer.region_size, &region),
      "understand the server's region descriptor");
  return MrRemotePtr(region);
}

}  // namespace

Client::Client(const std::string& address, const std::string& port,
               const Signals& signals)
    : signals_(signals),
      address_(address),
      port_(port),
      peer_(OpenPeer(address, RPMA_UTIL_IBV_CONTEXT_REMOTE)),
      window_(peer_.get(), kInFlight * kChunkSize,
              RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST) {}

void Client::Connect() {
  const ConnCfgPtr cfg = NewConnCfg();
  rpma_conn_req* request = nullptr;
  Check(rpma_conn_req_new(peer_.get(), address_.c_str(), port_.c_str(),
                          cfg.get(), &request),
        Text("reach ", address_, " port ", port_));
  connection_.emplace(peer_.get(), ConnReqPtr(request), signals_);
}

void Client::AwaitAcceptance() {
  const rpma_conn_event event = connection_->AwaitEvent();
  if (event == RPMA_CONN_ESTABLISHED) return;
  std::string message = Text("cannot connect to ", address_, " port ", port_,
                             ": ", rpma_utils_conn_event_2str(event));
  if (event == RPMA_CONN_REJECTED) {
    message += ", as nobody listens there; start it first: --role server";
  }
  throw Failure(message);
}

void Client::AcceptOffer() {
  const Offer offer = connection_->Receive<Offer>();
  target_ = RemoteRegion(offer);

  rpma_peer_cfg* raw = nullptr;
  Check(rpma_peer_cfg_from_descriptor(offer.config, offer.config_size, &raw),
        "understand the server's peer descriptor");
  const PeerCfgPtr cfg(raw);
  Check(rpma_conn_apply_remote_peer_cfg(connection_->get(), raw),
        "apply the server's peer configuration");
}

void Client::Replicate(Source* source, Summary* summary) {
  AcceptOffer();
  const uint64_t size = source->size();
  size_t region_size = 0;
  Check(rpma_mr_remote_get_size(target_.get(), &region_size),
        "get the size of the server's region");
  if (size > region_size - kDataOffset) {
    throw Failure(Text("the file of ", size, " bytes does not fit: the region ",
                       "holds ", region_size - kDataOffset,
                       " behind its commit word; start the server with ",
                       "--region-size ", size + kDataOffset, " or more"));
  }

  Sha256Stream stream;
  const Clock::time_point start = Clock::now();
  const auto write = [&](const Chunk& chunk) {
    source->Read(window_.data() + chunk.slot, chunk.length);
    stream.Update(window_.data() + chunk.slot, chunk.length);
    Check(rpma_write(connection_->get(), target_.get(),
                     kDataOffset + chunk.offset, window_.region(), chunk.slot,
                     chunk.length, RPMA_F_COMPLETION_ALWAYS, nullptr),
          "post a write");
    ++summary->writes;
  };
  Transfer("write ", size, write, [](const Chunk&) {});
  CommitLength(size, summary);
  summary->write_time = Clock::now() - start;
  summary->bytes = size;
  summary->source = stream.Finish();
  connection_->Send(Commit{.source = summary->source});
}

void Client::Verify(Summary* summary) {
  Sha256Stream stream;
  const Clock::time_point start = Clock::now();
  const auto read = [&](const Chunk& chunk) {
    Check(rpma_read(connection_->get(), window_.region(), chunk.slot,
                    target_.get(), kDataOffset + chunk.offset, chunk.length,
                    RPMA_F_COMPLETION_ALWAYS, nullptr),
          "post a read");
    ++summary->reads;
  };
  const auto hash = [&](const Chunk& chunk) {
    stream.Update(window_.data() + chunk.slot, chunk.length);
  };
  Transfer("verify", summary->bytes, read, hash);
  summary->read_time = Clock::now() - start;
  summary->read_back = stream.Finish();

  const Receipt receipt = connection_->Receive<Receipt>();
  summary->memory = receipt.memory;
  if (summary->memory != summary->source ||
      summary->read_back != summary->source ||
      le64toh(receipt.length) != summary->bytes) {
    throw Failure(Text("what arrived differs from the file: SHA-256 ",
                       Hex(summary->source), " of the file, ",
                       Hex(summary->memory), " of the server's memory, ",
                       Hex(summary->read_back), " read back"));
  }
}

// Keeps kInFlight requests outstanding. `post` posts the signalled request for
// a chunk, `done` takes over what it fetched. As requests complete in the order
// they were posted in, the chunk that completes is always the oldest, and its
// slot is the next to be used again.
void Client::Transfer(const char* label, uint64_t size, const ChunkStep& post,
                      const ChunkStep& done) {
  const auto chunk = [size](uint64_t index) {
    const uint64_t offset = index * kChunkSize;
    return Chunk{.offset = offset,
                 .length = std::min<uint64_t>(kChunkSize, size - offset),
                 .slot = index % kInFlight * kChunkSize};
  };
  const uint64_t chunks = (size + kChunkSize - 1) / kChunkSize;
  uint64_t posted = 0;
  Progress progress(label, size);
  for (uint64_t completed = 0; completed < chunks; ++completed) {
    signals_.Check();
    while (posted < chunks && posted - completed < kInFlight) {
      post(chunk(posted++));
    }
    const Chunk oldest = chunk(completed);
    connection_->AwaitSuccess(
        Text("transferring the ", oldest.length, " bytes at ", oldest.offset));
    done(oldest);
    progress.Advance(oldest.length);
  }
}

// The commit word must not become persistent before the data it vouches for:
// hence the flush before it. The one behind it makes the commit itself last.
void Client::CommitLength(uint64_t size, Summary* summary) {
  rpma_conn* const conn = connection_->get();
  Check(
      rpma_flush(conn, target_.get(), kDataOffset, size,
                 RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS, nullptr),
      "post a flush");
  connection_->AwaitSuccess("flushing the data");
  ++summary->flushes;

  const uint64_t word = htole64(size);
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  Check(rpma_atomic_write(conn, target_.get(), kCommitOffset, bytes,
                          RPMA_F_COMPLETION_ALWAYS, nullptr),
        "post an atomic write");
  connection_->AwaitSuccess("committing the length");
  ++summary->atomic_writes;

  Check(
      rpma_flush(conn, target_.get(), kCommitOffset, sizeof word,
                 RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS, nullptr),
      "post a flush");
  connection_->AwaitSuccess("flushing the commit word");
  ++summary->flushes;
}

// iWARP answers no write: this one is a success once it is sent, and all that
// tells of its refusal is that the connection ends.
void Client::WriteToStaleRegion(Summary* summary) {
  const MrRemotePtr stale = RemoteRegion(connection_->Receive<Offer>());
  Check(rpma_write(connection_->get(), stale.get(), 0, window_.region(), 0,
                   sizeof(uint64_t), RPMA_F_COMPLETION_ALWAYS, nullptr),
        "post a write");
  const ibv_wc completion = connection_->AwaitCompletion();
  summary->fault_status = StatusName(completion.status);
  summary->fault_ended_connection = completion.status == IBV_WC_SUCCESS;
  if (summary->fault_ended_connection) connection_->AwaitClosed();
  summary->fault_explanation = Explain(completion.qp_num);
}

}  // namespace rpma::quickstart
