// SPDX-License-Identifier: BSD-3-Clause
// Stands for a file that has the name of librpma_emu.so.0, and nothing in it.
