// SPDX-License-Identifier: BSD-3-Clause
// Parses the command line.

#include "tools/quickstart/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tools/quickstart/failure.h"
#include "tools/quickstart/message.h"

namespace rpma::quickstart {
namespace {

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

struct Valued {
  std::string_view name;
  void (*set)(std::string_view name, std::string_view value, Options* options);
};

// The options that take a value.
constexpr Valued kValued[] = {
    {"--file", [](std::string_view name, std::string_view value,
                  Options* options) { options->file = NotEmpty(name, value); }},
    {"--region-size",
     [](std::string_view name, std::string_view value, Options* options) {
       options->region_size =
           ParseNumber(name, value, kDataOffset + 1, SIZE_MAX);
     }},
    {"--transport",
     [](std::string_view, std::string_view value, Options* options) {
       options->transport = ParseTransport(value);
     }},
    {"--address",
     [](std::string_view name, std::string_view value, Options* options) {
       options->address = NotEmpty(name, value);
     }},
    {"--port",
     [](std::string_view name, std::string_view value, Options* options) {
       options->port = std::to_string(ParseNumber(name, value, 1, 65535));
     }},
    {"--role", [](std::string_view, std::string_view value,
                  Options* options) { options->role = ParseRole(value); }},
};

const Valued& FindValued(std::string_view name) {
  for (const Valued& option : kValued) {
    if (option.name == name) return option;
  }
  const bool dashed = name.substr(0, 1) == "-";
  UsageError(
      Text(dashed ? "unknown option '" : "unexpected argument '", name, "'"));
}

void CheckCombination(const Options& options) {
  if (options.role == Role::kServer && !options.file.empty()) {
    UsageError("--file belongs to the client, and --role is server");
  }
  if (options.role == Role::kServer && options.json) {
    UsageError("--json prints the client's summary, and --role is server");
  }
  if (options.role == Role::kClient && options.region_size != 0) {
    UsageError("--region-size belongs to the server, and --role is client");
  }
}

// No address is that of an RDMA device everywhere, as 127.0.0.1 is that of an
// emulated one.
std::string DefaultAddress(Transport transport) {
  if (transport == Transport::kEmulator) return "127.0.0.1";
  const char* const address = getenv("RPMA_ADDRESS");
  if (address != nullptr && *address != '\0') return address;
  UsageError(Text(
      "--transport verbs needs the address of an RDMA device, by --address "
      "or the environment variable RPMA_ADDRESS; ",
      kWithoutDevice));
}

}  // namespace

const char kWithoutDevice[] =
    "tools/softrdma runs programs on an RDMA device in software, and "
    "--transport=emulator needs none";

const char kUsage[] =
    R"(Usage: rpma_quickstart [OPTION]...
Replicates a file into a peer's persistent memory with librpma, proves that it
arrived, and then shows what a fault looks like.

  --file F         the file to replicate (default: 256 MiB of generated content)
  --region-size N  bytes of memory the server offers, 8 of them for the commit
                   word (default: what the file needs; with --role server what
                   the generated content needs)
  --transport T    emulator (default), or verbs: RDMA devices of this host
  --address A      where the server listens (default: 127.0.0.1 of the emulator;
                   with verbs $RPMA_ADDRESS, an address of the server's device)
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
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--help") {
      options.help = true;
    } else {
      const size_t equals = argument.find('=');
      const Valued& option = FindValued(argument.substr(0, equals));
      if (equals != std::string_view::npos) {
        option.set(option.name, argument.substr(equals + 1), &options);
      } else if (++i < argc) {
        option.set(option.name, argv[i], &options);
      } else {
        UsageError(Text(argument, " needs a value"));
      }
    }
  }
  CheckCombination(options);
  if (options.address.empty() && !options.help) {
    options.address = DefaultAddress(options.transport);
  }
  return options;
}

}  // namespace rpma::quickstart
