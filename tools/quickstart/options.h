// SPDX-License-Identifier: BSD-3-Clause
// The command line.

#ifndef RPMA_TOOLS_QUICKSTART_OPTIONS_H_
#define RPMA_TOOLS_QUICKSTART_OPTIONS_H_

#include <cstdint>
#include <string>

namespace rpma::quickstart {

enum class Role { kBoth, kServer, kClient };
enum class Transport { kEmulator, kVerbs };

struct Options {
  std::string file;          // empty: generated content
  uint64_t region_size = 0;  // bytes; 0: what the file needs, or the default
  Transport transport = Transport::kEmulator;
  std::string address;
  std::string port = "7471";
  Role role = Role::kBoth;
  bool json = false;
  bool help = false;
};

extern const char kUsage[];
// What one can do who has no RDMA device.
extern const char kWithoutDevice[];

// Throws a Failure with kExitUsage that names the argument and what is allowed.
// The address of real devices may come from the environment, as RPMA_ADDRESS.
Options ParseOptions(int argc, char* argv[]);

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_OPTIONS_H_
