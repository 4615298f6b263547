// SPDX-License-Identifier: BSD-3-Clause
// A ring between intact peers, and what it does with a hostile one.

#include "emulator/wire/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulator/random.h"

namespace rpma::emu::wire {
namespace {

constexpr size_t kRingBytes = 4 * size_t{kMaxPart};

class RingTest : public ::testing::Test {
 protected:
  RingTest() : bytes_(new (std::align_val_t{64}) std::byte[kRingBytes]()) {}
  ~RingTest() override { ::operator delete[](bytes_, std::align_val_t{64}); }

  RingMemory Memory() { return {&position_, {bytes_, kRingBytes}}; }

  // Writes a WRITE of so many bytes, all of this value.
  static bool Write(RingProducer& producer, size_t size, uint8_t value,
                    size_t spare = 0) {
    std::vector<std::byte> data(size, std::byte{value});
    Message message = NewMessage(Type::kRequest);
    message.head.flags = kLast;
    message.head.to = value;
    message.request.operation = Operation::kWrite;
    message.request.total = message.request.part = static_cast<uint32_t>(size);
    const Piece pieces[] = {{data.data(), size / 2},
                            {data.data() + size / 2, size - size / 2}};
    return producer.Write(message, pieces, spare);
  }

  // Reads one record, checks it, and returns the size of its payload.
  static size_t Read(RingConsumer& consumer, uint8_t value) {
    std::span<const std::byte> record;
    const char* why = "";
    if (consumer.Peek(&record, &why) != RingConsumer::Found::kRecord) {
      ADD_FAILURE() << "no record: " << why;
      return 0;
    }
    Message message;
    std::span<const std::byte> payload;
    EXPECT_TRUE(Decode(record, Lane::kRequests, &message, &payload, &why))
        << why;
    EXPECT_EQ(message.head.to, value);
    for (const std::byte byte : payload) {
      if (byte != std::byte{value}) {
        ADD_FAILURE() << "a byte of another message";
        break;
      }
    }
    const size_t size = payload.size();
    consumer.Pop();
    return size;
  }

  RingConsumer::Found Peek(RingConsumer& consumer) {
    std::span<const std::byte> record;
    return consumer.Peek(&record, &why_);
  }

  // The first word of a record, or 0.
  void PutHead(size_t offset, Type type, uint32_t size) {
    Head head{};
    head.type = size == 0 ? Type{} : type;
    head.size = size;
    std::memcpy(bytes_ + offset, &head, sizeof(uint64_t));
  }

  static void ReadUpToTheLastLine(RingProducer& producer,
                                  RingConsumer& consumer) {
    for (size_t record = 0; record < kRingBytes / 64 - 1; ++record) {
      ASSERT_TRUE(Write(producer, 0, 1));
      Read(consumer, 1);
    }
  }

  RingPosition position_{};
  std::byte* const bytes_;
  const char* why_ = "nothing";
};

TEST_F(RingTest, GivesRecordsInTheOrderOfWriting) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kNothing);
  EXPECT_FALSE(consumer.MayHaveMore());
  EXPECT_TRUE(Write(producer, 8, 1));
  EXPECT_TRUE(Write(producer, 0, 2));
  EXPECT_TRUE(Write(producer, kMaxPart, 3));
  EXPECT_TRUE(consumer.MayHaveMore());
  EXPECT_EQ(Read(consumer, 1), 8u);
  EXPECT_EQ(Read(consumer, 2), 0u);
  EXPECT_EQ(Read(consumer, 3), kMaxPart);
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kNothing);
}

TEST_F(RingTest, IsFullUntilARecordIsPopped) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  int written = 0;
  while (Write(producer, kMaxPart, 7)) ++written;
  EXPECT_EQ(written, 3);  // a record has a cache line besides its payload
  EXPECT_FALSE(producer.is_broken());
  EXPECT_EQ(Read(consumer, 7), kMaxPart);
  EXPECT_EQ(Read(consumer, 7), kMaxPart);
  EXPECT_TRUE(Write(producer, kMaxPart, 7));
}

TEST_F(RingTest, LeavesTheSpareRoom) {
  RingProducer producer(Memory());
  // One line always ends what is written.
  EXPECT_TRUE(Write(producer, 0, 1, kRingBytes - 128));
  EXPECT_FALSE(Write(producer, 0, 1, kRingBytes - 128));
  EXPECT_TRUE(producer.HasRoom(kRingBytes - 128));
  EXPECT_FALSE(producer.HasRoom(kRingBytes - 127));
}

TEST_F(RingTest, RoomForAnyIsEnoughWhereverARecordStarts) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  for (size_t record = 0; record < 4 * kRingBytes / 64; ++record) {
    ASSERT_TRUE(Write(producer, 0, 1));
    ASSERT_EQ(Read(consumer, 1), 0u);
    if (record % 97 != 0) continue;
    while (producer.HasRoom(kRoomForAny)) {
      ASSERT_TRUE(Write(producer, kMaxPart, 2));
    }
    while (consumer.MayHaveMore()) Read(consumer, 2);
  }
}

TEST_F(RingTest, OldBytesAreNoRecord) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  // Payload like heads everywhere, twice around.
  for (size_t record = 0; record < 2 * kRingBytes / kMaxPart; ++record) {
    ASSERT_TRUE(Write(producer, kMaxPart, 0x11));
    EXPECT_EQ(Read(consumer, 0x11), kMaxPart);
    EXPECT_FALSE(consumer.MayHaveMore());
  }
  for (size_t record = 0; record < kRingBytes / 64; ++record) {
    ASSERT_TRUE(Write(producer, 8, 2));
    EXPECT_EQ(Read(consumer, 2), 8u);
    EXPECT_EQ(Peek(consumer), RingConsumer::Found::kNothing);
  }
}

TEST_F(RingTest, ASmallPayloadTakesOneLine) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  EXPECT_TRUE(Write(producer, kMaxSmall, 1));
  EXPECT_EQ(Read(consumer, 1), kMaxSmall);
  EXPECT_EQ(position_.read.load(), 64u);
  EXPECT_TRUE(Write(producer, kMaxSmall + 1, 2));
  EXPECT_EQ(Read(consumer, 2), kMaxSmall + 1);
  EXPECT_EQ(position_.read.load(), 192u);
}

TEST_F(RingTest, CarriesRecordsOfAllSizesBetweenThreads) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  constexpr int kRecords = 20'000;
  std::thread writer([&] {
    Random random(1);
    for (int record = 0; record < kRecords; ++record) {
      const size_t size = random.Below(random.Below(16) == 0 ? kMaxPart : 100);
      while (!Write(producer, size, static_cast<uint8_t>(record))) {
        std::this_thread::yield();
      }
    }
  });
  Random random(1);
  for (int record = 0; record < kRecords; ++record) {
    const size_t size = random.Below(random.Below(16) == 0 ? kMaxPart : 100);
    while (!consumer.MayHaveMore()) std::this_thread::yield();
    ASSERT_EQ(Read(consumer, static_cast<uint8_t>(record)), size);
  }
  writer.join();
}

// --- A hostile producer.

TEST_F(RingTest, RefusesARecordOfAnImpossibleSize) {
  for (const uint32_t size : {1u, 15u, kMaxRecord + 1, 0xffff'ffffu}) {
    RingConsumer consumer(Memory());
    PutHead(0, Type::kRequest, size);
    EXPECT_EQ(Peek(consumer), RingConsumer::Found::kRubbish);
    EXPECT_STREQ(why_, "a record of a wrong size");
  }
}

TEST_F(RingTest, RefusesARecordBeyondTheEndOfTheRing) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  ReadUpToTheLastLine(producer, consumer);
  PutHead(kRingBytes - 64, Type::kRequest, 128);
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kRubbish);
  EXPECT_STREQ(why_, "a record of a wrong size");
}

TEST_F(RingTest, RefusesAPadInTheMiddle) {
  RingConsumer consumer(Memory());
  PutHead(0, Type::kPad, 64);
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kRubbish);
  EXPECT_STREQ(why_, "a pad that does not end with its ring");
}

TEST_F(RingTest, RefusesAPadWithNothingBehind) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  ReadUpToTheLastLine(producer, consumer);
  PutHead(0, Type::kRequest, 0);
  PutHead(kRingBytes - 64, Type::kPad, 64);
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kRubbish);
  EXPECT_STREQ(why_, "a pad without a record");
}

TEST_F(RingTest, RefusesAPadBehindAPad) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  ReadUpToTheLastLine(producer, consumer);
  PutHead(0, Type::kPad, 64);
  PutHead(kRingBytes - 64, Type::kPad, 64);
  EXPECT_EQ(Peek(consumer), RingConsumer::Found::kRubbish);
  EXPECT_STREQ(why_, "a pad without a record");
}

// --- A hostile consumer.

TEST_F(RingTest, HasNoRoomForAPeerThatReadsWhatIsNotWritten) {
  for (const uint64_t read :
       {uint64_t{kRingBytes} + 64, uint64_t{65}, ~uint64_t{0}}) {
    position_.read = 0;
    RingProducer producer(Memory());
    while (Write(producer, kMaxPart, 1)) {
    }
    EXPECT_FALSE(producer.is_broken());
    position_.read = read;
    EXPECT_FALSE(Write(producer, kMaxPart, 1));
    EXPECT_TRUE(producer.is_broken());
    EXPECT_FALSE(Write(producer, 0, 1));
  }
}

TEST_F(RingTest, HasNoRoomForAPeerThatReadsBackwards) {
  RingProducer producer(Memory());
  RingConsumer consumer(Memory());
  while (Write(producer, kMaxPart, 1)) {
  }
  Read(consumer, 1);
  Read(consumer, 1);
  EXPECT_TRUE(Write(producer, kMaxPart, 1));
  position_.read = 64;
  while (Write(producer, kMaxPart, 1)) {
  }
  EXPECT_TRUE(producer.is_broken());
}

}  // namespace
}  // namespace rpma::emu::wire
