// SPDX-License-Identifier: BSD-3-Clause
//
// Private data: kept once, read from anywhere.

#include "core/private_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace rpma {
namespace {

rdma_conn_param Carrying(const std::string& bytes) {
  rdma_conn_param param = {};
  param.private_data = bytes.data();
  param.private_data_len = static_cast<uint8_t>(bytes.size());
  return param;
}

std::string Bytes(PrivateData& data) {
  const rpma_conn_private_data view = data.View();
  return {static_cast<const char*>(view.ptr), view.len};
}

TEST(PrivateDataTest, NoneAtFirst) {
  PrivateData data;
  EXPECT_EQ(data.View().ptr, nullptr);
  EXPECT_EQ(data.View().len, 0);
}

TEST(PrivateDataTest, KeepsACopy) {
  PrivateData data;
  std::string bytes(255, 'x');
  data.StoreFirst(Carrying(bytes));
  bytes.assign(255, 'y');
  EXPECT_EQ(Bytes(data), std::string(255, 'x'));
}

TEST(PrivateDataTest, WhatIsHeldStays) {
  PrivateData data;
  data.StoreFirst(Carrying("first"));
  const void* const where = data.View().ptr;
  data.StoreFirst(Carrying("second"));
  EXPECT_EQ(Bytes(data), "first");
  EXPECT_EQ(data.View().ptr, where);
}

TEST(PrivateDataTest, NothingSentIsNothingHeld) {
  PrivateData data;
  data.StoreFirst(Carrying(""));
  data.StoreFirst(rdma_conn_param{});
  EXPECT_EQ(data.View().ptr, nullptr);
  data.StoreFirst(Carrying("late"));
  EXPECT_EQ(Bytes(data), "late");
}

TEST(PrivateDataTest, ReaderSeesAllOrNothing) {
  for (int round = 0; round < 100; ++round) {
    PrivateData data;
    std::thread storing([&] { data.StoreFirst(Carrying("12345678")); });
    rpma_conn_private_data view = data.View();
    while (view.len == 0) view = data.View();
    EXPECT_EQ(std::memcmp(view.ptr, "12345678", 8), 0);
    storing.join();
  }
}

}  // namespace
}  // namespace rpma
