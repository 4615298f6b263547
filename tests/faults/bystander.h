// SPDX-License-Identifier: BSD-3-Clause
// A connection that has nothing to do with the program under faults.

#ifndef RPMA_TESTS_FAULTS_BYSTANDER_H_
#define RPMA_TESTS_FAULTS_BYSTANDER_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>

#include "tests/faults/findings.h"

namespace rpma::faults {

// Exists from before the first run on a fabric until after the last one.
class Bystander {
 public:
  // Connects the nodes. What fails then is found by the first Check().
  Bystander(const char* client_address, const char* server_address);
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander();

  // Uses the connection in both directions.
  void Check(Findings* findings);

 private:
  static constexpr size_t kSize = 256;

  struct Side {
    rpma_peer* peer = nullptr;
    rpma_mr_local* mr = nullptr;
    rpma_mr_remote* remote = nullptr;  // the other side's
    rpma_conn* conn = nullptr;
    rpma_cq* cq = nullptr;
    alignas(64) uint8_t memory[kSize] = {};
  };

  bool Open(Side* side, const char* address);
  bool Connect(const char* address);
  bool Complete(Side* side, uint64_t wr_id);
  bool Write(Side* from, const Side& to, uint8_t value);
  bool Send(Side* from, Side* to);

  Side client_;
  Side server_;
  bool connected_ = false;
  uint8_t round_ = 0;
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_BYSTANDER_H_
