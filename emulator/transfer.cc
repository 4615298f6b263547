// SPDX-License-Identifier: BSD-3-Clause
// Copies with the visibility rules of a DMA write.

#include "emulator/transfer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#define RPMA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RPMA_TSAN 1
#endif
#endif

#ifdef RPMA_TSAN
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace rpma::emu {
namespace {

// While one lives, ThreadSanitizer sees no access of this thread.
class UnseenByTsan {
 public:
#ifdef RPMA_TSAN
  UnseenByTsan() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~UnseenByTsan() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  UnseenByTsan() = default;
  ~UnseenByTsan() {}  // not trivial: a variable of this type is not "unused"
#endif
  UnseenByTsan(const UnseenByTsan&) = delete;
  UnseenByTsan& operator=(const UnseenByTsan&) = delete;
};

// The middle of a long copy starts and ends at cache lines, where memcpy(3)
// stores whole vectors, so it tears no word; pieces of this size keep the order
// ascending without a loss of speed.
constexpr size_t kLine = 64;
constexpr size_t kMiddlePiece = 1 << 16;  // bytes

inline void CopyMiddle(std::byte* to, const std::byte* from, size_t size) {
  const auto target = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  if (target < source + size && source < target + size) [[unlikely]] {
    std::memmove(to, from, size);
  } else {
    std::memcpy(to, from, size);
  }
}

template <typename Word>
inline void StoreWord(std::byte* to, const std::byte* from, int order) {
  Word word;
  __builtin_memcpy(&word, from, sizeof(word));
  auto* const target = reinterpret_cast<Word*>(to);
  if (order == __ATOMIC_RELEASE) {
    __atomic_store_n(target, word, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(target, word, __ATOMIC_RELAXED);
  }
}

// The largest power of two that divides the address and fits into `size`.
inline size_t WordAt(const std::byte* to, size_t size) {
  const auto alignment = reinterpret_cast<uintptr_t>(to) | 8;
  size_t word = alignment & (~alignment + 1);
  while (word > size) word /= 2;
  return word;
}

inline void CopyWord(std::byte* to, const std::byte* from, size_t word,
                     int order) {
  switch (word) {
    case 8:
      return StoreWord<uint64_t>(to, from, order);
    case 4:
      return StoreWord<uint32_t>(to, from, order);
    case 2:
      return StoreWord<uint16_t>(to, from, order);
    default:
      return StoreWord<uint8_t>(to, from, order);
  }
}

}  // namespace

void Transfer(void* to, const void* from, size_t size) {
  if (size == 0) return;
  const UnseenByTsan unseen;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const auto copy_word = [&](size_t word, int order) {
    CopyWord(target, source, word, order);
    target += word;
    source += word;
    size -= word;
  };

  while (size > kLine && reinterpret_cast<uintptr_t>(target) % kLine != 0) {
    copy_word(WordAt(target, size), __ATOMIC_RELAXED);
  }
  while (size > kLine) {  // at least a byte is left for the release store
    const size_t piece = std::min((size - 1) / kLine * kLine, kMiddlePiece);
    CopyMiddle(target, source, piece);
    target += piece;
    source += piece;
    size -= piece;
  }
  while (size > 0) {
    const size_t word = WordAt(target, size);
    copy_word(word, word == size ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
  }
}

void TransferAtomic(void* to, const void* from) {
  const UnseenByTsan unseen;
  StoreWord<uint64_t>(static_cast<std::byte*>(to),
                      static_cast<const std::byte*>(from), __ATOMIC_RELEASE);
}

void Transfer(std::span<const Piece> to, std::span<const Piece> from) {
  Piece target;
  for (const Piece& piece : from) {
    Piece source = piece;
    while (source.size > 0) {
      while (target.size == 0) {
        target = to.front();
        to = to.subspan(1);
      }
      const size_t size = std::min(source.size, target.size);
      Transfer(target.data, source.data, size);
      source = {source.data + size, source.size - size};
      target = {target.data + size, target.size - size};
    }
  }
}

}  // namespace rpma::emu
