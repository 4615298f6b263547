// SPDX-License-Identifier: BSD-3-Clause
// Private data of requests and acceptances: sizes, padding, lifetime.

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Bytes = std::vector<uint8_t>;

// The sizes around the limits of InfiniBand, and the largest of all.
constexpr int kSizes[] = {0, 1, 55, 56, 57, 196, 197, 255};

// `size` bytes, none of them 0.
Bytes SomeBytes(int size) {
  Bytes bytes(static_cast<size_t>(size));
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

class PrivateDataTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    port_ = NewPort();
    endpoint_ = Listen(port_);
  }
  void TearDown() override {
    endpoint_.reset();
    ConformanceTest::TearDown();
  }

  // What the receiver sees of `sent`, where the field has `field` bytes.
  Bytes AsReceived(Bytes sent, uint8_t field) const {
    if (provider().private_data_padded) sent.resize(field);
    return sent;
  }

  const std::string& port() const { return port_; }
  rpma_ep* endpoint() const { return endpoint_; }

 private:
  std::string port_;
  Endpoint endpoint_;
};

INSTANTIATE_TEST_SUITE_P(, PrivateDataTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(PrivateDataTest, RequestCarriesUpToTheProvidersLimit) {
  const uint8_t limit = provider().max_request_data;
  for (const int size : kSizes) {
    if (size > limit) continue;
    SCOPED_TRACE(size);
    const Conn client = Connect(NewRequest(port()), SomeBytes(size));
    const ConnReq incoming = NextRequest(endpoint());
    EXPECT_EQ(PrivateData(incoming), AsReceived(SomeBytes(size), limit));
  }
}

TEST_P(PrivateDataTest, RequestBeyondTheLimitIsRefusedAndConsumed) {
  for (const int size : kSizes) {
    if (size <= provider().max_request_data) continue;
    SCOPED_TRACE(size);
    Bytes bytes = SomeBytes(size);
    const rpma_conn_private_data data = {bytes.data(),
                                         static_cast<uint8_t>(size)};
    ConnReq request = NewRequest(port());
    rpma_conn* conn = nullptr;
    EXPECT_THAT(rpma_conn_req_connect(request.address(), &data, &conn),
                RcIs(RPMA_E_PROVIDER));
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(conn, nullptr);
    EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_connect")));
  }
}

TEST_P(PrivateDataTest, AcceptanceCarriesUpToTheProvidersLimit) {
  const uint8_t limit = provider().max_accept_data;
  for (const int size : kSizes) {
    if (size > limit) continue;
    SCOPED_TRACE(size);
    const Conn client = Connect(NewRequest(port()));
    const Conn server = Connect(NextRequest(endpoint()), SomeBytes(size));
    EXPECT_THAT(PrivateData(client), IsEmpty());
    EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
    EXPECT_EQ(PrivateData(client), AsReceived(SomeBytes(size), limit));
  }
}

TEST_P(PrivateDataTest, AcceptanceBeyondTheLimitRejectsTheClient) {
  for (const int size : kSizes) {
    if (size <= provider().max_accept_data) continue;
    SCOPED_TRACE(size);
    const Conn client = Connect(NewRequest(port()));
    Bytes bytes = SomeBytes(size);
    const rpma_conn_private_data data = {bytes.data(),
                                         static_cast<uint8_t>(size)};
    ConnReq request = NextRequest(endpoint());
    rpma_conn* conn = nullptr;
    EXPECT_THAT(rpma_conn_req_connect(request.address(), &data, &conn),
                RcIs(RPMA_E_PROVIDER));
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(conn, nullptr);
    std::vector<std::string> errors = log().TakeErrors();
    if (provider().failed_accept_rejects) {
      ASSERT_FALSE(errors.empty());
      EXPECT_THAT(errors.back(), HasSubstr("rdma_reject"));
      errors.pop_back();
    }
    EXPECT_THAT(errors, ElementsAre(HasSubstr("rdma_accept")));
    EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
  }
}

TEST_P(PrivateDataTest, BothDirectionsAreIndependent) {
  const Pair pair =
      ConnectedPair(endpoint(), port(),
                    {.request_data = {1, 2, 3}, .accept_data = {4, 5, 6, 7}});
  EXPECT_EQ(PrivateData(pair.server.conn),
            AsReceived({1, 2, 3}, provider().max_request_data));
  EXPECT_EQ(PrivateData(pair.client.conn),
            AsReceived({4, 5, 6, 7}, provider().max_accept_data));
}

TEST_P(PrivateDataTest, WithoutDataTheFieldIsZeroOrAbsent) {
  const Pair pair = ConnectedPair(endpoint(), port());
  EXPECT_EQ(PrivateData(pair.server.conn),
            AsReceived({}, provider().max_request_data));
  EXPECT_EQ(PrivateData(pair.client.conn),
            AsReceived({}, provider().max_accept_data));
  rpma_conn_private_data data = {};
  ASSERT_THAT(rpma_conn_get_private_data(pair.client.conn, &data), IsOk());
  EXPECT_EQ(data.ptr != nullptr, provider().private_data_padded);
}

TEST_P(PrivateDataTest, OutgoingRequestHasNone) {
  char byte = 0;
  rpma_conn_private_data data = {&byte, 1};
  const ConnReq request = NewRequest(port());
  ASSERT_THAT(rpma_conn_req_get_private_data(request, &data), IsOk());
  EXPECT_EQ(data.ptr, nullptr);
  EXPECT_EQ(data.len, 0);
}

TEST_P(PrivateDataTest, DataOfARequestMoveToItsConnection) {
  const Conn client = Connect(NewRequest(port()), {0xab});
  ConnReq incoming = NextRequest(endpoint());
  rpma_conn_private_data of_request = {};
  ASSERT_THAT(rpma_conn_req_get_private_data(incoming, &of_request), IsOk());

  const Conn server = Connect(std::move(incoming));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
  rpma_conn_private_data of_conn = {};
  ASSERT_THAT(rpma_conn_get_private_data(server, &of_conn), IsOk());
  EXPECT_EQ(of_conn.ptr, of_request.ptr);
  EXPECT_EQ(of_conn.len, of_request.len);
  EXPECT_EQ(*static_cast<uint8_t*>(of_conn.ptr), 0xab);
}

TEST_P(PrivateDataTest, DataStayValidUntilTheConnectionIsDeleted) {
  const Pair pair = ConnectedPair(endpoint(), port(), {.accept_data = {0xcd}});
  rpma_conn_private_data data = {};
  ASSERT_THAT(rpma_conn_get_private_data(pair.client.conn, &data), IsOk());
  Disconnect(pair);
  EXPECT_EQ(*static_cast<uint8_t*>(data.ptr), 0xcd);
  EXPECT_EQ(PrivateData(pair.client.conn),
            AsReceived({0xcd}, provider().max_accept_data));
}

TEST_P(PrivateDataTest, DataAreCopiedWhenSent) {
  Bytes bytes = {1, 2, 3};
  const rpma_conn_private_data data = {bytes.data(), 3};
  ConnReq request = NewRequest(port());
  Conn client;
  ASSERT_THAT(rpma_conn_req_connect(request.address(), &data, client.address()),
              IsOk());
  std::ranges::fill(bytes, 0xff);
  EXPECT_EQ(PrivateData(NextRequest(endpoint())),
            AsReceived({1, 2, 3}, provider().max_request_data));
}

TEST_P(PrivateDataTest, NullArgumentsAreInvalid) {
  const Pair pair = ConnectedPair(endpoint(), port());
  const ConnReq request = NewRequest(port());
  rpma_conn_private_data data = {};
  EXPECT_THAT(rpma_conn_get_private_data(nullptr, &data), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_private_data(pair.client.conn, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_get_private_data(nullptr, &data),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_get_private_data(request, nullptr),
              RcIs(RPMA_E_INVAL));
  log().Discard();
}

}  // namespace
}  // namespace rpma::test
