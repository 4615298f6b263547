// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of core_test.h that are no templates.

#include "tests/unit/core/core_test.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

#include "core/log.h"
#include "core/mr_descriptor.h"

namespace rpma::test {
namespace {

std::vector<std::string> lines;

[[gnu::format(printf, 5, 6)]] void Keep(rpma_log_level level, const char*, int,
                                        const char*, const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::string line = std::string(1, "FEWNID"[level]) + " " + text;
  if (!line.empty() && line.back() == '\n') line.pop_back();
  lines.push_back(std::move(line));
}

}  // namespace

LogLines::LogLines() {
  lines.clear();
  log::SetFunction(&Keep);
}

LogLines::~LogLines() { log::SetFunction(nullptr); }

std::vector<std::string> LogLines::Take() { return std::exchange(lines, {}); }

// Not in the header, which would generate the mock anew in every test.
CoreTest::CoreTest() = default;
CoreTest::~CoreTest() = default;

std::unique_ptr<Peer> CoreTest::MakePeer() {
  std::unique_ptr<Peer> peer;
  EXPECT_EQ(Peer::Create(transport, transport.context(), &peer), Rc::kOk);
  transport.ForgetCalls();
  return peer;
}

std::unique_ptr<MrLocal> CoreTest::MakeLocal(const Peer& peer,
                                             uintptr_t address, size_t size,
                                             int usage) {
  std::unique_ptr<MrLocal> mr;
  EXPECT_EQ(MrLocal::Register(peer, reinterpret_cast<void*>(address), size,
                              usage, &mr),
            Rc::kOk);
  return mr;
}

std::unique_ptr<MrRemote> CoreTest::MakeRemote(uint64_t address, uint64_t size,
                                               uint32_t rkey, uint8_t usage) {
  const MrDescriptor region = {
      .address = address, .length = size, .rkey = rkey, .usage = usage};
  const auto bytes = region.Encode();
  std::unique_ptr<MrRemote> mr;
  EXPECT_EQ(MrRemote::FromDescriptor(bytes.data(), bytes.size(), &mr), Rc::kOk);
  return mr;
}

}  // namespace rpma::test
