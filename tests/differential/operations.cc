// SPDX-License-Identifier: BSD-3-Clause
// Operations that succeed, or that a device does not have.

#include <cstring>

#include "tests/differential/pair.h"
#include "tests/differential/scenarios.h"

namespace rpma::differential {
namespace {

constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;

void Write(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Write(100, 3, 12);
  pair.client.Completion();
  pair.client.Read(200, 96, 20);
  pair.client.Completion();
  pair.client.Bytes(200, 20);
  pair.server.Bytes(96, 20);
  pair.End();
}

void WriteOfServer(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Write(100, 3, 12);
  pair.server.Completion();
  pair.server.Read(200, 96, 20);
  pair.server.Completion();
  pair.client.Bytes(96, 20);
  pair.server.Bytes(200, 20);
  pair.End();
}

void Large(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Write(0, 0, kRegion);
  pair.client.Completion();
  pair.client.Read(0, 0, kRegion);
  pair.client.Completion();
  pair.server.Bytes(0, kRegion);
  pair.client.Bytes(0, kRegion);
  pair.End();
}

void NoBytes(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  pair.client.Write(0, 0, 0);
  pair.client.Completion();
  pair.client.Post("write of nothing", [&](const void* id) {
    return rpma_write(pair.client.connection(), nullptr, 0, nullptr, 0, 0,
                      kAlways, id);
  });
  pair.client.Completion();
  pair.client.Read(0, 0, 0);
  pair.client.Completion();
  pair.client.Post("read of nothing", [&](const void* id) {
    return rpma_read(pair.client.connection(), nullptr, 0, nullptr, 0, 0,
                     kAlways, id);
  });
  pair.client.Completion();
  pair.client.Flush(0, 0);
  pair.client.Completion();
  pair.client.Post("send of nothing", [&](const void* id) {
    return rpma_send(pair.client.connection(), nullptr, 0, 0, kAlways, id);
  });
  pair.client.Completion();
  pair.server.Completion();
  pair.server.Bytes(0, 16);
  pair.End();
}

// siw refuses the receive.
void NoBytesIntoNothing(World* world) {
  Pair pair(world);
  pair.Connect();
  const int result =
      pair.server.Post("receive of nothing", [&](const void* id) {
        return rpma_recv(pair.server.connection(), nullptr, 0, 0, id);
      });
  if (result != 0 || world->iwarp) return;
  pair.client.Send(0, 0);
  pair.client.Completion();
  pair.server.Completion();
  pair.End();
}

void Messages(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  pair.server.Recv(64, 64);
  pair.client.Recv(0, 64);
  pair.client.Send(0, 16);
  pair.client.Completion();
  pair.server.Completion();
  pair.client.Send(0, 64);
  pair.client.Completion();
  pair.server.Completion();
  pair.server.Bytes(0, 20);
  pair.server.Bytes(64, 68);
  pair.server.Send(64, 8);
  pair.server.Completion();
  pair.client.Completion();
  pair.client.Bytes(0, 12);
  pair.End();
}

void SendWithImmediate(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  if (pair.client.SendWithImm(0, 16) == 0) {
    pair.client.Completion();
    pair.server.Completion();
    pair.server.Bytes(0, 20);
  }
  pair.End();
}

void WriteWithImmediate(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  if (pair.client.WriteWithImm(1000, 0, 16) == 0) {
    pair.client.Completion();
    pair.server.Completion();
  }
  pair.server.Bytes(0, 20);
  pair.server.Bytes(1000, 20);
  pair.End();
}

void WriteOfNothingWithImmediate(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  if (pair.client.WriteWithImm(1000, 0, 0) == 0) {
    pair.client.Completion();
    pair.server.Completion();
  }
  pair.server.Bytes(0, 20);
  pair.End();
}

void AtomicWrite(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.AtomicWrite(16);
  pair.client.Completion();
  pair.client.AtomicWrite(17);
  pair.client.Flush(16, 8);
  pair.client.Completion();
  pair.server.Bytes(12, 16);
  pair.End();
}

void Flush(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Write(0, 0, 16, RPMA_F_COMPLETION_ON_ERROR);
  pair.client.Flush(0, 16);
  pair.client.Completion();
  pair.server.Bytes(0, 20);
  pair.client.Flush(kRegion - 8, 8);
  pair.client.Completion();
  pair.client.Flush(kRegion - 4, 4);
  pair.client.Completion();
  pair.client.Flush(kRegion - 1, 1);
  pair.client.Completion();
  pair.client.Flush(kRegion, 0);
  pair.client.Completion();
  pair.End();
}

void InOrder(World* world) {
  Pair pair(world);
  pair.Connect();
  for (size_t i = 0; i < 6; ++i) pair.client.Write(8 * i, i, 8);
  pair.client.Read(0, 0, 48);
  pair.client.Completion(7);
  pair.client.Bytes(0, 48);
  pair.End();
}

}  // namespace

std::vector<Scenario> ScenariosOfOperations() {
  return {
      {"write and read", Write},
      {"write and read of the server", WriteOfServer},
      {"write and read of 64 KiB", Large},
      {"operations of no bytes", NoBytes},
      {"message of no bytes into nothing", NoBytesIntoNothing},
      {"messages", Messages},
      {"send with immediate", SendWithImmediate},
      {"write with immediate", WriteWithImmediate},
      {"write of no bytes with immediate", WriteOfNothingWithImmediate},
      {"atomic write", AtomicWrite},
      {"flush, up to the end of the region", Flush},
      {"requests complete in order", InOrder},
  };
}

}  // namespace rpma::differential
