// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/fixture.h"

#include "tests/conformance/environment.h"

namespace rpma::test {

void ConformanceTest::SetUp() {
  world_.emplace(WorldOptions{
      .emulated = provider().emulated,
      .profile = provider().name,
      .options = std::string(provider().options) + " " + device_options(),
      .extend = [this](Emulation& emulation) { Extend(emulation); },
      .client_address = address(),
      .server_address = server_address()});
}

void ConformanceTest::TearDown() { world_.reset(); }

const char* ConformanceTest::address() const { return TestAddress(); }

void ConformanceTest::ExpectExplained(
    const End& end, const ::testing::Matcher<std::string>& why) {
  if (!provider().emulated) return;
  EXPECT_THAT(emulation().Explain(end.qp_num), why);
}

void ConformanceTest::Disconnect(const Pair& pair) {
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  if (!provider().time_wait_event) return;
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
}

}  // namespace rpma::test
