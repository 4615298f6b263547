// SPDX-License-Identifier: BSD-3-Clause
// The pages of a program's memory: whether a registration can pin them.

#ifndef RPMA_EMULATOR_USER_PAGES_H_
#define RPMA_EMULATOR_USER_PAGES_H_

#include <cstddef>
#include <cstdint>

namespace rpma::emu {

// The bytes of the pages that the range touches.
// REQUIRES: length is not 0; the range does not wrap around.
uint64_t PagesAround(uintptr_t start, size_t length);

// Whether the pages that the range touches are mapped, and the process can read
// or, if so asked, write them. Of more than 16 pages, only the first and the
// last are accessed, as a program may register far more than it touches, and
// more than there is memory; before Linux 5.14, none is. REQUIRES: as above.
bool CanBePinned(uintptr_t start, size_t length, bool writable);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_USER_PAGES_H_
