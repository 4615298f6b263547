// SPDX-License-Identifier: BSD-3-Clause
// What the command line of rpma_quickstart accepts, and how it refuses.

#include "tools/quickstart/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Options Parse(std::vector<std::string> arguments) {
  std::string program = "rpma_quickstart";
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return ParseOptions(static_cast<int>(argv.size()) - 1, argv.data());
}

// The message of the refusal, which must be one of wrong usage.
std::string Refusal(const std::vector<std::string>& arguments) {
  try {
    Parse(arguments);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    return failure.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(OptionsTest, DefaultsAreBothRolesOnTheEmulator) {
  const Options options = Parse({});
  EXPECT_EQ(options.file, "");
  EXPECT_EQ(options.region_size, 0u);
  EXPECT_EQ(options.transport, Transport::kEmulator);
  EXPECT_EQ(options.address, "127.0.0.1");
  EXPECT_EQ(options.port, "7471");
  EXPECT_EQ(options.role, Role::kBoth);
  EXPECT_FALSE(options.json);
  EXPECT_FALSE(options.help);
}

TEST(OptionsTest, ValuesFollowASpaceOrAnEqualsSign) {
  const Options options =
      Parse({"--file", "a b", "--region-size=4096", "--transport=verbs",
             "--address", "::1", "--port=65535", "--json", "--help"});
  EXPECT_EQ(options.file, "a b");
  EXPECT_EQ(options.region_size, 4096u);
  EXPECT_EQ(options.transport, Transport::kVerbs);
  EXPECT_EQ(options.address, "::1");
  EXPECT_EQ(options.port, "65535");
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.help);
}

TEST(OptionsTest, RolesAreBothServerAndClient) {
  EXPECT_EQ(Parse({"--role=both"}).role, Role::kBoth);
  EXPECT_EQ(Parse({"--role=server"}).role, Role::kServer);
  EXPECT_EQ(Parse({"--role=client"}).role, Role::kClient);
}

TEST(OptionsTest, TheSmallestRegionHoldsTheCommitWordAndOneByte) {
  EXPECT_EQ(Parse({"--region-size=9"}).region_size, 9u);
  EXPECT_THAT(Refusal({"--region-size=8"}),
              HasSubstr("--region-size '8' is not a number from 9 to"));
}

// An address of an RDMA device from the environment, for the time of a test.
class DeviceAddress {
 public:
  explicit DeviceAddress(const char* address) {
    setenv("RPMA_ADDRESS", address, 1);
  }
  DeviceAddress(const DeviceAddress&) = delete;
  DeviceAddress& operator=(const DeviceAddress&) = delete;
  ~DeviceAddress() { unsetenv("RPMA_ADDRESS"); }
};

TEST(OptionsTest, TheAddressOfADeviceMayComeFromTheEnvironment) {
  const DeviceAddress address("192.0.2.1");
  EXPECT_EQ(Parse({"--transport=verbs"}).address, "192.0.2.1");
  EXPECT_EQ(Parse({"--transport=verbs", "--address=::1"}).address, "::1");
  EXPECT_EQ(Parse({}).address, "127.0.0.1");
}

TEST(OptionsTest, NoAddressIsThatOfADeviceEverywhere) {
  const DeviceAddress address("");
  EXPECT_THAT(Refusal({"--transport=verbs"}),
              AllOf(HasSubstr("--address"), HasSubstr("RPMA_ADDRESS"),
                    HasSubstr(kWithoutDevice)));
  EXPECT_TRUE(Parse({"--transport=verbs", "--help"}).help);
}

struct BadArguments {
  std::vector<std::string> arguments;
  std::string complaint;
};

TEST(OptionsTest, EachRefusalNamesTheArgumentAndWhatIsAllowed) {
  const BadArguments kCases[] = {
      {{"--port=0"}, "--port '0' is not a number from 1 to 65535"},
      {{"--port=65536"}, "--port '65536' is not a number from 1 to 65535"},
      {{"--port=-1"}, "--port '-1' is not a number"},
      {{"--port=80x"}, "--port '80x' is not a number"},
      {{"--port="}, "--port '' is not a number"},
      {{"--port", "http"}, "--port 'http' is not a number"},
      {{"--region-size=1e6"}, "--region-size '1e6' is not a number"},
      {{"--region-size=99999999999999999999"}, "is not a number from 9 to"},
      {{"--transport=tcp"}, "--transport 'tcp' is neither emulator nor verbs"},
      {{"--role=peer"}, "--role 'peer' is none of both, server and client"},
      {{"--file="}, "--file is empty"},
      {{"--address="}, "--address is empty"},
      {{"--file"}, "--file needs a value"},
      {{"--fast"}, "unknown option '--fast'"},
      {{"-x"}, "unknown option '-x'"},
      {{"--json=yes"}, "unknown option '--json'"},
      {{"file.txt"}, "unexpected argument 'file.txt'"},
      {{"--", "file.txt"}, "unknown option '--'"},
      {{"--role=server", "--file=f"}, "--file belongs to the client"},
      {{"--role=server", "--json"}, "--json prints the client's summary"},
      {{"--role=client", "--region-size=99"}, "belongs to the server"},
  };
  for (const BadArguments& bad : kCases) {
    SCOPED_TRACE(bad.arguments.front());
    EXPECT_THAT(Refusal(bad.arguments), HasSubstr(bad.complaint));
  }
}

}  // namespace
}  // namespace rpma::quickstart
