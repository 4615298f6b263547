// SPDX-License-Identifier: BSD-3-Clause
//
// The fixture of tests that need a connection.

#ifndef RPMA_TESTS_UNIT_CORE_CONNECTION_TEST_H_
#define RPMA_TESTS_UNIT_CORE_CONNECTION_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "core/conn_cfg.h"
#include "core/connection.h"
#include "core/connection_request.h"
#include "tests/unit/core/core_test.h"

namespace rpma::test {

class ConnectionTestBase : public CoreTest {
 protected:
  std::unique_ptr<ConnectionRequest> MakeRequest() {
    std::unique_ptr<ConnectionRequest> request;
    EXPECT_EQ(ConnectionRequest::Outgoing(*peer, "host", "1", cfg, &request),
              Rc::kOk);
    transport.ForgetCalls();
    return request;
  }

  std::unique_ptr<Connection> MakeConnection() {
    std::unique_ptr<Connection> connection;
    EXPECT_EQ(ConnectionRequest::Connect(MakeRequest(), nullptr, &connection),
              Rc::kOk);
    transport.ForgetCalls();
    return connection;
  }

  std::unique_ptr<Peer> peer = MakePeer();
  ConnCfg cfg;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_UNIT_CORE_CONNECTION_TEST_H_
