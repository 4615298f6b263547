// SPDX-License-Identifier: BSD-3-Clause
// The documented failures of librpma and what its functions look like, read
// from the files beside this one.

#ifndef RPMA_TESTS_ERRORS_TABLE_H_
#define RPMA_TESTS_ERRORS_TABLE_H_

#include <compare>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace rpma::test {

// What identifies a row of errors.tsv.
struct Row {
  std::string function;
  std::string error;  // "RPMA_E_..."
  std::string cause;

  auto operator<=>(const Row&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row);
// As a part of the name of a test.
std::string TestNameOf(const Row& row);
// "RPMA_E_..." as a number; 0 for other texts.
int CodeOf(const std::string& error);

// A row that we decided not to follow as it stands.
struct Deviation {
  std::string decision;
  std::string reason;
};

struct Prototype {
  std::vector<std::string> parameters;  // their names
  // Of its out-parameters, those that a failure leaves untouched, and those
  // that it sets to NULL.
  std::vector<std::string> untouched;
  std::vector<std::string> nulled;
};

struct Table {
  std::vector<Row> rows;  // in the order of the file
  std::map<Row, Deviation> deviations;
  std::map<std::string, Prototype> prototypes;

  // What every test uses. A file that is missing or malformed ends the program.
  static const Table& Get();
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_TABLE_H_
