// SPDX-License-Identifier: BSD-3-Clause
// One side of a connection, as a scenario plays it: what it does and what
// happens to it becomes lines of the scenario's history.

#ifndef RPMA_TESTS_DIFFERENTIAL_SIDE_H_
#define RPMA_TESTS_DIFFERENTIAL_SIDE_H_

#include <librpma.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rpma::differential {

// Where a scenario runs, and what it has seen.
struct World {
  const char* address;
  ibv_context* context;
  bool iwarp;
  std::vector<std::string> history = {};
};

// What rpma_conn_cfg_new() makes, unless said; a srq of nullptr means none.
struct Sizes {
  uint32_t cq = 10;
  uint32_t sq = 10;
  uint32_t rq = 10;
  rpma_srq* srq = nullptr;
};

inline constexpr size_t kRegion = 65536;  // bytes
inline constexpr uint32_t kImmediate = 0x01020304;
// Of any wait that is to end; retries on a machine that is emulated take long.
inline constexpr std::chrono::seconds kDeadline{40};
// Of what comes at once or, on some device, never. Nothing sent behind it would
// tell sooner: its queue pair has failed, and nothing else is ordered with it.
inline constexpr std::chrono::seconds kBrief{1};

// Ends the program unless `result` is 0, as every scenario takes for granted.
void Must(int result, const char* call);

class Side {
 public:
  // With a peer and a region for all usages, whose bytes differ between sides.
  Side(std::string name, World* world);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Add a line to the history.
  void Say(const std::string& what);
  int Result(const std::string& call, int result);  // gives the result

  // Waits for the next event, or for so many completions; false if not all
  // came.
  void Event();
  bool Completion(int count = 1, std::chrono::seconds time_out = kDeadline);
  // Waits for the completions of all requests posted so far, but `lost`.
  void Rest(int lost = 0, std::chrono::seconds time_out = kDeadline);
  // Whether an event waits now.
  bool HasEvent() const;
  // Tells what the completion queue has now.
  void Queued();

  // Posts a request: `post` gets its op_context. `name` and a number name it.
  // Of a request with a completion only if it fails, `signalled` is false.
  template <typename Call>
  int Post(const std::string& name, Call post, bool signalled = true) {
    const std::string request = NewRequest(name);
    const int result = post(reinterpret_cast<const void*>(requests_));
    if (result == 0 && signalled) ++pending_;
    return Result(request, result);
  }
  // The same on the connection, with its own region and that of the other side.
  int Write(size_t dst, size_t src, size_t length,
            int flags = RPMA_F_COMPLETION_ALWAYS);
  int WriteWithImm(size_t dst, size_t src, size_t length);
  int Read(size_t dst, size_t src, size_t length);
  int AtomicWrite(size_t dst);
  int Flush(size_t dst, size_t length);  // to visibility
  int Send(size_t src, size_t length);
  int SendWithImm(size_t src, size_t length);
  int Recv(size_t dst, size_t length);
  void Disconnect();
  void Delete();  // the connection

  // Tells what is in its own memory.
  void Bytes(size_t offset, size_t length);
  // Waits until its byte at `offset` is `value`; tells whether it became so.
  void AwaitByte(size_t offset, char value);

  // Of the other side, as it has described it. `size`, `usage`: as if it had
  // said that.
  void Learn(const Side& other);
  void Learn(const rpma_mr_local* region, uint64_t size, int usage);

  char* memory() { return memory_.data(); }
  rpma_peer* peer() const { return peer_; }
  rpma_mr_local* region() const { return region_; }
  void Deregister();
  rpma_mr_remote* remote() const { return remote_; }
  rpma_conn* connection() const { return connection_; }
  void Adopt(rpma_conn* connection);  // once it is made

  World* const world;

 private:
  std::string NewRequest(const std::string& name);
  void Tell(const ibv_wc& wc);
  bool TakeCompletion();

  const std::string name_;
  std::vector<char> memory_;
  rpma_peer* peer_ = nullptr;
  rpma_mr_local* region_ = nullptr;
  rpma_mr_remote* remote_ = nullptr;
  rpma_conn* connection_ = nullptr;
  rpma_cq* cq_ = nullptr;
  uint32_t qp_num_ = 0;
  uintptr_t requests_ = 0;  // how many there were
  int pending_ = 0;         // completions to come
  std::map<uint64_t, std::string> names_;
  std::map<std::string, int> counts_;
};

}  // namespace rpma::differential

#endif  // RPMA_TESTS_DIFFERENTIAL_SIDE_H_
