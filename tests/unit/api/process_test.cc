// SPDX-License-Identifier: BSD-3-Clause
//
// Which transport a call uses.

#include "api/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/log.h"

namespace rpma {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;

class MockEmulator : public EmulatorSource {
 public:
  virtual ~MockEmulator() = default;
  MOCK_METHOD(Transport*, Selected, (), (override));
  MOCK_METHOD(Transport*, Default, (), (override));
  MOCK_METHOD(Transport*, Of, (const ibv_context*), (override));
};

std::string logged;

[[gnu::format(printf, 5, 6)]] void Keep(rpma_log_level, const char*, int,
                                        const char*, const char* format, ...) {
  char text[1200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  logged += text;
}

class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    logged.clear();
    log::SetFunction(&Keep);
    unsetenv("RPMA_TRANSPORT");
    RegisterVerbs(nullptr);
    RegisterEmulator(&emulator_);
  }
  ~ProcessTest() override {
    RegisterEmulator(nullptr);
    RegisterEmulatorLoader(nullptr);
    unsetenv("RPMA_TRANSPORT");
    log::SetFunction(nullptr);
  }

  // The mock hands out pointers that nobody follows.
  Transport* const first_ = reinterpret_cast<Transport*>(8);
  Transport* const second_ = reinterpret_cast<Transport*>(16);
  ::testing::NiceMock<MockEmulator> emulator_;
  Transport* found_ = nullptr;
};

TEST_F(ProcessTest, VerbsIsTheDefault) {
  RegisterVerbs(first_);
  EXPECT_CALL(emulator_, Default).Times(0);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, first_);
  setenv("RPMA_TRANSPORT", "verbs", 1);
  found_ = nullptr;
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, first_);
}

TEST_F(ProcessTest, VerbsThatIsNotLinkedIsSaidSo) {
  EXPECT_CALL(emulator_, Default).Times(0);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_EQ(found_, nullptr);
  EXPECT_EQ(logged,
            "the verbs transport is not part of this build; set "
            "RPMA_TRANSPORT=emulator or select a fabric with librpma_emu.h\n");
  logged.clear();
  setenv("RPMA_TRANSPORT", "verbs", 1);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_THAT(logged, HasSubstr("the verbs transport"));
}

TEST_F(ProcessTest, VariableAsksForTheDefaultFabric) {
  setenv("RPMA_TRANSPORT", "emulator", 1);
  EXPECT_CALL(emulator_, Default).WillOnce(Return(first_));
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, first_);
  EXPECT_THAT(logged, IsEmpty());
}

TEST_F(ProcessTest, SelectedFabricNeedsNoVariable) {
  EXPECT_CALL(emulator_, Selected).WillRepeatedly(Return(second_));
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, second_);
}

TEST_F(ProcessTest, SelectedFabricWinsOverTheVariable) {
  setenv("RPMA_TRANSPORT", "nonsense", 1);
  EXPECT_CALL(emulator_, Selected).WillRepeatedly(Return(second_));
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, second_);
}

TEST_F(ProcessTest, UnknownNameIsRefused) {
  setenv("RPMA_TRANSPORT", "nonsense", 1);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_THAT(logged, HasSubstr("RPMA_TRANSPORT=nonsense names no transport"));
}

TEST_F(ProcessTest, EmulatorThatDoesNotStartIsTheProvidersFailure) {
  setenv("RPMA_TRANSPORT", "emulator", 1);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_EQ(found_, nullptr);
}

TEST_F(ProcessTest, EmulatorThatIsNotLinkedIsSaidSo) {
  setenv("RPMA_TRANSPORT", "emulator", 1);
  RegisterEmulator(nullptr);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_THAT(logged, HasSubstr("not linked"));
}

TEST_F(ProcessTest, EmulatorIsLoadedWhenItIsAskedFor) {
  static EmulatorSource* source;
  source = &emulator_;
  RegisterEmulator(nullptr);
  RegisterEmulatorLoader([] {
    RegisterEmulator(source);
    return true;
  });
  EXPECT_CALL(emulator_, Default).WillOnce(Return(first_));
  setenv("RPMA_TRANSPORT", "emulator", 1);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kOk);
  EXPECT_EQ(found_, first_);
  EXPECT_THAT(logged, IsEmpty());
}

TEST_F(ProcessTest, LoaderThatFailsHasSaidWhy) {
  RegisterEmulator(nullptr);
  RegisterEmulatorLoader([] { return false; });
  setenv("RPMA_TRANSPORT", "emulator", 1);
  EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
  EXPECT_THAT(logged, IsEmpty());
}

TEST_F(ProcessTest, EmulatorThatRegistersNothingIsSaidSo) {
  RegisterEmulator(nullptr);
  RegisterEmulatorLoader([] { return true; });
  setenv("RPMA_TRANSPORT", "emulator", 1);
  for (int i = 0; i < 2; ++i) {
    logged.clear();
    EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
    EXPECT_EQ(logged,
              "what was loaded as the emulator is none: it has registered no "
              "transport; install librpma.so.0 and librpma_emu.so.0 from one "
              "build\n");
  }
}

TEST_F(ProcessTest, EmulatorOfAnotherBuildIsRefusedAtEachLookUp) {
  RegisterVerbs(first_);
  RegisterEmulator(nullptr);
  RegisterEmulator(&emulator_, kEmulatorAbi + 1);
  EXPECT_CALL(emulator_, Selected).Times(0);
  for (int i = 0; i < 2; ++i) {
    logged.clear();
    EXPECT_EQ(CurrentTransport(&found_), Rc::kProvider);
    EXPECT_THAT(logged, HasSubstr("built for another librpma"));
  }
}

TEST_F(ProcessTest, ContextBelongsToTheTransportThatMadeIt) {
  ibv_context context = {};
  EXPECT_CALL(emulator_, Of(&context)).WillOnce(Return(first_));
  EXPECT_EQ(TransportOf(&context, &found_), Rc::kOk);
  EXPECT_EQ(found_, first_);
}

TEST_F(ProcessTest, AnyOtherContextIsOfVerbs) {
  RegisterVerbs(second_);
  ibv_context context = {};
  EXPECT_CALL(emulator_, Of(&context)).WillOnce(Return(nullptr));
  EXPECT_EQ(TransportOf(&context, &found_), Rc::kOk);
  EXPECT_EQ(found_, second_);
}

TEST_F(ProcessTest, ContextOfNobodyIsRefused) {
  ibv_context context = {};
  EXPECT_EQ(TransportOf(&context, &found_), Rc::kProvider);
  EXPECT_EQ(found_, nullptr);
  EXPECT_THAT(logged, HasSubstr("is no emulated device's"));
}

}  // namespace
}  // namespace rpma
