// SPDX-License-Identifier: BSD-3-Clause
// Requests that the other side, or the own device, refuses.

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/differential/pair.h"
#include "tests/differential/scenarios.h"

namespace rpma::differential {
namespace {

constexpr int kAllUsages = 0xff;

// A connection whose server has a receive posted and describes its region as
// twice as large.
class Beyond : public Pair {
 public:
  explicit Beyond(World* world) : Pair(world) {
    Connect();
    client.Learn(server.region(), 2 * kRegion, kAllUsages);
    server.Recv(0, 64);
  }
};

// A connection whose server has another region, for one usage only.
class Restricted : public Pair {
 public:
  Restricted(World* world, int usage) : Pair(world) {
    rpma_mr_reg(server.peer(), bytes_, sizeof(bytes_), usage, &region);
    Connect();
    client.Learn(region, sizeof(bytes_), kAllUsages);
  }
  ~Restricted() {
    server.Delete();
    client.Delete();
    rpma_mr_dereg(&region);
  }
  Restricted(const Restricted&) = delete;
  Restricted& operator=(const Restricted&) = delete;

  rpma_mr_local* region = nullptr;

 private:
  alignas(4096) char bytes_[4096] = {};
};

void WritePast(World* world) {
  Beyond pair(world);
  pair.client.Write(kRegion - 8, 0, 16);
  pair.client.Completion();
  pair.EndAfterError();
}

void ReadPast(World* world) {
  Beyond pair(world);
  pair.client.Read(0, kRegion - 8, 16);
  pair.client.Completion();
  pair.EndAfterError();
}

void AtomicWritePast(World* world) {
  Beyond pair(world);
  pair.client.AtomicWrite(kRegion);
  pair.client.Completion();
  pair.EndAfterError();
}

void FlushPast(World* world) {
  Beyond pair(world);
  pair.client.Flush(kRegion, 8);
  pair.client.Completion();
  pair.EndAfterError();
}

void WriteToDeregistered(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Deregister();
  pair.client.Write(0, 0, 8);
  pair.client.Completion();
  pair.EndAfterError();
}

void ReadOfDeregistered(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Deregister();
  pair.client.Read(0, 0, 8);
  pair.client.Completion();
  pair.EndAfterError();
}

void WriteWithoutRight(World* world) {
  Restricted pair(world, RPMA_MR_USAGE_READ_SRC);
  pair.client.Write(0, 0, 8);
  pair.client.Completion();
  pair.EndAfterError();
}

// siw grants it: so it must not matter whether the connection ends by itself.
void ReadWithoutRight(World* world) {
  Restricted pair(world, RPMA_MR_USAGE_WRITE_DST);
  pair.client.Read(0, 0, 8);
  pair.client.Completion();
  pair.End();
}

void FlushWithoutRight(World* world) {
  Restricted pair(world, RPMA_MR_USAGE_WRITE_DST);
  pair.client.Flush(0, 8);
  pair.client.Completion();
  pair.End();
}

// The device needs REMOTE_WRITE there on iWARP, and has it.
void WriteToReadDestination(World* world) {
  Restricted pair(world, RPMA_MR_USAGE_READ_DST);
  pair.client.Write(0, 0, 8);
  pair.client.Completion();
  if (world->iwarp) {
    pair.End();
  } else {
    pair.EndAfterError();
  }
}

void MessageTooLong(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 8);
  pair.server.Recv(64, 64);
  pair.client.Send(0, 64);
  pair.client.Completion();
  pair.server.Completion();
  pair.EndAfterError();
}

void ReceiveIntoUnwritable(World* world) {
  Restricted pair(world, RPMA_MR_USAGE_SEND);
  pair.server.Post("receive", [&](const void* id) {
    return rpma_recv(pair.server.connection(), pair.region, 0, 64, id);
  });
  pair.client.Send(0, 16);
  pair.client.Completion();
  pair.server.Completion();
  pair.EndAfterError();
}

void NoReceivePosted(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Send(0, 16);
  if (world->iwarp) {
    pair.client.Completion();
    return pair.EndAfterError();
  }
  pair.server.Recv(0, 64);
  pair.client.Completion();
  pair.server.Completion();
  pair.server.Bytes(0, 20);
  pair.End();
}

// A source that belongs to another peer.
void ForeignSource(World* world) {
  Pair pair(world);
  Side other("server", world);
  pair.Connect();
  pair.server.Recv(0, 64);
  pair.client.Post("write of a foreign region", [&](const void* id) {
    return rpma_write(pair.client.connection(), pair.client.remote(), 0,
                      other.region(), 0, 8, RPMA_F_COMPLETION_ALWAYS, id);
  });
  pair.client.Rest();
  pair.server.Bytes(0, 8);
  pair.EndAfterError();
}

// siw loses those that are posted once the error has come.
void RequestsBehind(World* world) {
  if (world->iwarp) return;
  Beyond pair(world);
  pair.client.Read(0, kRegion, 8);
  pair.client.Read(0, 0, 8);
  pair.client.Read(0, 8, 8);
  pair.client.Rest();
  pair.EndAfterError();
}

void RequestsAfterwards(World* world) {
  Beyond pair(world);
  pair.client.Read(0, kRegion, 8);
  pair.client.Completion();
  if (world->iwarp) {
    pair.client.Event();
    pair.server.Event();
  }
  pair.client.Write(0, 0, 8);
  pair.client.Recv(0, 8);
  pair.client.Rest(world->iwarp ? 2 : 0, kBrief);
  pair.server.Bytes(0, 8);
}

void UnsignalledFailure(World* world) {
  Beyond pair(world);
  pair.client.Write(0, 0, 8, RPMA_F_COMPLETION_ON_ERROR);
  pair.client.Write(kRegion, 0, 8, RPMA_F_COMPLETION_ON_ERROR);
  if (!world->iwarp) pair.client.Completion();
  pair.EndAfterError();
}

void DeregisterTwice(World* world) {
  Pair pair(world);
  pair.server.Deregister();
  pair.server.Deregister();
}

void PeerInUse(World* world) {
  Pair pair(world);
  rpma_peer* peer = pair.server.peer();
  pair.server.Result("delete the peer of a region", rpma_peer_delete(&peer));
}

constexpr size_t kPage = 4096;

// Registers the page at `start`.
void Register(Pair* pair, const std::string& what, void* start, int usage) {
  rpma_mr_local* region = nullptr;
  pair->server.Result(
      "register " + what,
      rpma_mr_reg(pair->server.peer(), start, kPage, usage, &region));
  rpma_mr_dereg(&region);
}

void UnmappedMemory(World* world) {
  Pair pair(world);
  Register(&pair, "unmapped memory", reinterpret_cast<void*>(kPage),
           RPMA_MR_USAGE_WRITE_DST);
}

void ProtectedMemory(World* world) {
  Pair pair(world);
  void* const page =
      mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Register(&pair, "inaccessible memory", page, RPMA_MR_USAGE_WRITE_DST);
  mprotect(page, kPage, PROT_READ);
  Register(&pair, "read-only memory to write", page, RPMA_MR_USAGE_WRITE_DST);
  Register(&pair, "read-only memory to read", page, RPMA_MR_USAGE_WRITE_SRC);
  munmap(page, kPage);
}

void MemoryBeyondItsFile(World* world) {
  Pair pair(world);
  const int file = memfd_create("empty", MFD_CLOEXEC);
  void* const page =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Register(&pair, "memory beyond its file", page, RPMA_MR_USAGE_WRITE_DST);
  munmap(page, kPage);
  close(file);
}

}  // namespace

std::vector<Scenario> ScenariosOfRefusals() {
  return {
      {"write past the region", WritePast},
      {"read past the region", ReadPast},
      {"atomic write past the region", AtomicWritePast},
      {"flush past the region", FlushPast},
      {"write to a deregistered region", WriteToDeregistered},
      {"read of a deregistered region", ReadOfDeregistered},
      {"write without the right", WriteWithoutRight},
      {"read without the right", ReadWithoutRight},
      {"flush without the right", FlushWithoutRight},
      {"write to the destination of reads", WriteToReadDestination},
      {"send longer than the receive", MessageTooLong},
      {"receive into an unwritable region", ReceiveIntoUnwritable},
      {"send with no receive posted", NoReceivePosted},
      {"write of another peer's region", ForeignSource},
      {"requests behind one that fails", RequestsBehind},
      {"requests after one that failed", RequestsAfterwards},
      {"unsignalled write that fails", UnsignalledFailure},
      {"deregister twice", DeregisterTwice},
      {"peer in use", PeerInUse},
      {"register unmapped memory", UnmappedMemory},
      {"register protected memory", ProtectedMemory},
      {"register memory beyond its file", MemoryBeyondItsFile},
  };
}

}  // namespace rpma::differential
