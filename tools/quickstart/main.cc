// SPDX-License-Identifier: BSD-3-Clause
// rpma_quickstart: replicates a file into a peer's persistent memory with
// librpma and proves it, then shows what a fault looks like. A model of how to
// use the library; session.cc has the order of events.

#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "tools/quickstart/failure.h"
#include "tools/quickstart/library.h"
#include "tools/quickstart/network.h"
#include "tools/quickstart/options.h"
#include "tools/quickstart/session.h"
#include "tools/quickstart/signals.h"

namespace rpma::quickstart {
namespace {

// `bazel run` starts programs in a folder of its own and says where it was
// called, which is what a relative --file refers to.
void EnterCallersFolder() {
  const char* folder = getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    throw Failure(Text("cannot enter '", folder, "': ", strerror(errno)));
  }
}

void FlushOutput() {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    throw Failure(Text("cannot write to stdout: ", strerror(errno)));
  }
}

void Main(int argc, char* argv[]) {
  const Options options = ParseOptions(argc, argv);
  if (options.help) {
    fputs(kUsage, stdout);
  } else {
    const Signals signals;
    EnterCallersFolder();
    CaptureLog();
    if (options.transport == Transport::kVerbs) {
      UseRdmaDevices();
    } else {
      UseEmulatedNetwork();
    }
    Run(options, signals);
    CheckNothingLeft();
  }
  FlushOutput();
}

// The one line; whatever a file's name may contain.
int Report(std::string message, int exit_code) {
  for (char& c : message) {
    if (iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  fprintf(stderr, "rpma_quickstart: %s\n", message.c_str());
  return exit_code;
}

}  // namespace
}  // namespace rpma::quickstart

int main(int argc, char* argv[]) {
  using namespace rpma::quickstart;
  try {
    Main(argc, argv);
    return EXIT_SUCCESS;
  } catch (const Failure& failure) {
    return Report(failure.what(), failure.exit_code());
  } catch (const std::bad_alloc&) {
    return Report("out of memory", kExitFailure);
  }
}
