// SPDX-License-Identifier: BSD-3-Clause
// Parses the command line.

#include "tools/quickstart/options.h"

#include <getopt.h>

#include <charconv>
#include <string_view>

#include "tools/quickstart/failure.h"
#include "tools/quickstart/message.h"

namespace rpma::quickstart {
namespace {

constexpr option kOptions[] = {
    {"file", required_argument, nullptr, 'f'},
    {"region-size", required_argument, nullptr, 's'},
    {"transport", required_argument, nullptr, 't'},
    {"address", required_argument, nullptr, 'a'},
    {"port", required_argument, nullptr, 'p'},
    {"role", required_argument, nullptr, 'r'},
    {"json", no_argument, nullptr, 'j'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
};

[[noreturn]] void UsageError(const std::string& message) {
  throw Failure(Text(message, " (--help lists the options)"), kExitUsage);
}

uint64_t ParseNumber(std::string_view option, std::string_view text,
                     uint64_t min, uint64_t max) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < min || number > max) {
    UsageError(
        Text(option, " '", text, "' is not a number from ", min, " to ", max));
  }
  return number;
}

Transport ParseTransport(std::string_view text) {
  if (text == "emulator") return Transport::kEmulator;
  if (text == "verbs") return Transport::kVerbs;
  UsageError(Text("--transport '", text, "' is neither emulator nor verbs"));
}

Role ParseRole(std::string_view text) {
  if (text == "both") return Role::kBoth;
  if (text == "server") return Role::kServer;
  if (text == "client") return Role::kClient;
  UsageError(Text("--role '", text, "' is none of both, server and client"));
}

std::string NotEmpty(std::string_view option, std::string_view text) {
  if (text.empty()) UsageError(Text(option, " is empty"));
  return std::string(text);
}

void Set(int code, const char* value, Options* options) {
  switch (code) {
    case 'f':
      options->file = NotEmpty("--file", value);
      break;
    case 's':
      options->region_size =
          ParseNumber("--region-size", value, kDataOffset + 1, SIZE_MAX);
      break;
    case 't':
      options->transport = ParseTransport(value);
      break;
    case 'a':
      options->address = NotEmpty("--address", value);
      break;
    case 'p':
      options->port = std::to_string(ParseNumber("--port", value, 1, 65535));
      break;
    case 'r':
      options->role = ParseRole(value);
      break;
    case 'j':
      options->json = true;
      break;
    case 'h':
      options->help = true;
      break;
  }
}

void CheckCombination(const Options& options) {
  if (options.role == Role::kServer && !options.file.empty()) {
    UsageError("--file belongs to the client, and --role is server");
  }
  if (options.role == Role::kClient && options.region_size != 0) {
    UsageError("--region-size belongs to the server, and --role is client");
  }
}

}  // namespace

const char kUsage[] =
    R"(Usage: rpma_quickstart [OPTION]...
Replicates a file into a peer's persistent memory with librpma, proves that it
arrived, and then shows what a fault looks like.

  --file F         the file to replicate (default: 256 MiB of generated content)
  --region-size N  bytes of memory the server offers, 8 of them for the commit
                   word (default: what the file needs; 64 MiB with --role server)
  --transport T    emulator (default) or verbs
  --address A      where the server listens (default: 127.0.0.1)
  --port P         1 to 65535 (default: 7471)
  --role R         both (default: server and client in this process), server or
                   client
  --json           print the summary as one JSON object
  --help           print this text

Exit status: 0 replicated and verified, 1 failed, 2 wrong usage, 130 SIGINT,
143 SIGTERM.
)";

Options ParseOptions(int argc, char* argv[]) {
  Options options;
  opterr = 0;  // the messages below say more than getopt's
  optind = 1;
  while (optind < argc) {
    const char* argument = argv[optind];
    const int code = getopt_long(argc, argv, "+:", kOptions, nullptr);
    if (code == ':') UsageError(Text(argument, " needs a value"));
    if (code == '?') UsageError(Text("unknown option '", argument, "'"));
    if (code == -1) UsageError(Text("unexpected argument '", argument, "'"));
    Set(code, optarg, &options);
  }
  CheckCombination(options);
  return options;
}

}  // namespace rpma::quickstart
