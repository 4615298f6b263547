// SPDX-License-Identifier: BSD-3-Clause
// Memory that tests register. Both processes see it at one address if there are
// two.

#ifndef RPMA_TESTS_SUPPORT_PAGES_H_
#define RPMA_TESTS_SUPPORT_PAGES_H_

#include <cstddef>

namespace rpma::test {

// From now on pages are shared with the children that this process forks. Call
// it once, before there are pages.
void SharePages();

// Page-aligned zero bytes. Safe to use from any thread.
void* AllocatePages(size_t size);
void FreePages(void* pages);
// The same for sizes that memory has no room for: what nobody touches takes
// none.
void* AllocateSparsePages(size_t size);
void FreeSparsePages(void* pages, size_t size);
// Whether all `size` bytes are in shared pages, used or not.
bool AreShared(const void* bytes, size_t size);

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_PAGES_H_
