// SPDX-License-Identifier: BSD-3-Clause
// rpma_bench: the speed of the emulator, beside its targets and UCX.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "tools/bench/figures.h"
#include "tools/bench/machine.h"
#include "tools/bench/measure.h"
#include "tools/bench/options.h"
#include "tools/bench/processes.h"
#include "tools/bench/ucx.h"

namespace rpma::bench {
namespace {

constexpr int kExitUsage = 2;

// Where the fabrics of the processes meet, apart from all others.
class MeetingPlace {
 public:
  MeetingPlace() {
    std::string path =
        std::filesystem::temp_directory_path() / "rpma-bench-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), path);
    }
    path_ = path;
    setenv("RPMA_TRANSPORT", "emulator", 1);
    setenv("RPMA_EMU", ("dir=" + path).c_str(), 1);
  }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;
  ~MeetingPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

// One line on stderr, if that is a terminal.
void Show(const char* what) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\x1b[K%s", what);
  std::fflush(stderr);
}

void Measure(const Options& options) {
  const MeetingPlace place;
  const Effort& effort = options.quick ? kQuickEffort : kFullEffort;
  Board& board = MakeShared<Board>();
  Show("two processes: 8 bytes");
  MeasureOneWay(effort, board);
  MeasureCompleted(effort, board);
  Show("two processes: waking");
  MeasureWake(effort, board);
  Show("two processes: 1 MiB");
  MeasureBulk(effort, board);
  Show("two processes: idle");
  MeasureIdle(effort, board);
  Show("one process");
  MeasureInside(effort, board);
  Show("the machine");
  MeasureMachine(effort, board);
  std::string note = "UCX is left out.";
  UcxFigures ucx;
  if (options.ucx) {
    Show("UCX");
    ucx = MeasureUcx(effort, &note);
  }
  Show("");
  const std::vector<Row> rows = MakeRows(board.figures, ucx);
  std::fputs(
      (options.json ? ToJson(rows, note) : ToPlainText(rows, note)).c_str(),
      stdout);
}

int Main(int argc, char* argv[]) {
  const Options options = ParseOptions(argc, argv);
  if (options.help) {
    std::fputs(kUsage, stdout);
  } else {
#ifndef __OPTIMIZE__
    std::fputs("rpma_bench: built without optimisation\n", stderr);
#endif
    Measure(options);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace rpma::bench

int main(int argc, char* argv[]) {
  try {
    return rpma::bench::Main(argc, argv);
  } catch (const rpma::bench::UsageError& error) {
    std::fprintf(stderr, "rpma_bench: %s\n", error.what());
    return rpma::bench::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpma_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
