// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/documented.h"

#include <librpma.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/errors/table.h"

namespace rpma::faults {
namespace {

using Entry = std::pair<std::string_view, int>;

std::vector<Entry> Read() {
  std::vector<Entry> entries;
  for (const test::Row& row : test::Table::Get().rows) {
    entries.emplace_back(row.function, test::CodeOf(row.error));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = Read();
  return entries;
}

}  // namespace

void LoadDocumentedCodes() { Entries(); }

bool IsDocumented(const char* function, int code) {
  // Of invalid arguments there is only one that a program does not choose: the
  // event that came.
  if (code == RPMA_E_INVAL &&
      function != std::string_view("rpma_ep_next_conn_req")) {
    return false;
  }
  return std::binary_search(Entries().begin(), Entries().end(),
                            Entry(function, code));
}

}  // namespace rpma::faults
