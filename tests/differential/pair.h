// SPDX-License-Identifier: BSD-3-Clause
// Two sides of a scenario and how they come together and part.

#ifndef RPMA_TESTS_DIFFERENTIAL_PAIR_H_
#define RPMA_TESTS_DIFFERENTIAL_PAIR_H_

#include <librpma.h>

#include <cstdint>
#include <string>

#include "tests/differential/side.h"

namespace rpma::differential {

// A server that listens, and a client. One thread plays both.
class Pair {
 public:
  explicit Pair(World* world);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Connects, and says only what goes wrong.
  void Connect(const Sizes& client_sizes = {}, const Sizes& server_sizes = {});
  // Single steps of it. Each adds the result to the history.
  int Request(uint8_t private_data, const Sizes& sizes = {});
  rpma_conn_req* Incoming(const Sizes& sizes = {});
  int Accept(rpma_conn_req* request, uint8_t private_data);

  // The client disconnects, then the server; each says how its requests end,
  // but so many, which do not.
  void End(int lost_by_client = 0, int lost_by_server = 0);
  // The same after an error, which on iWARP has ended the connection.
  void EndAfterError(int lost_by_client = 0, int lost_by_server = 0);

  Side client;
  Side server;
  rpma_ep* endpoint = nullptr;
  const std::string port;

 private:
  World* const world_;
};

// A request that `data` describes: its size, and the bytes that differ from 0.
std::string Describe(const rpma_conn_private_data& data);

}  // namespace rpma::differential

#endif  // RPMA_TESTS_DIFFERENTIAL_PAIR_H_
