// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/table.h"

#include <librpma.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace rpma::test {
namespace {

using Fields = std::vector<std::string>;

[[noreturn]] void Die(const std::string& file, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", file.c_str(), why.c_str());
  std::exit(2);
}

Fields Split(const std::string& text, char separator) {
  Fields fields;
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, separator);) {
    fields.push_back(field);
  }
  return fields;
}

// The lines of a file in the runfiles, without the first, which must say
// `header`; empty fields at the end of a line may be missing.
std::vector<Fields> ReadLines(const std::string& file,
                              const std::string& header) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) Die(file, "cannot be read");
  if (line != header) Die(file, "does not start with \"" + header + "\"");
  const size_t width = Split(header, '\t').size();
  std::vector<Fields> lines;
  while (std::getline(in, line)) {
    Fields fields = Split(line, '\t');
    if (fields.size() > width) Die(file, "too many fields: " + line);
    fields.resize(width);
    lines.push_back(std::move(fields));
  }
  return lines;
}

// The names in "int f(const char *a, int b[8]);".
Fields ParameterNames(const std::string& prototype) {
  const size_t begin = prototype.find('(') + 1;
  const size_t end = prototype.rfind(')');
  Fields names = Split(prototype.substr(begin, end - begin), ',');
  for (std::string& name : names) {
    name = name.substr(0, name.find('['));
    name = name.substr(name.find_last_of(" *") + 1);
  }
  return names;
}

void ReadRows(Table* table) {
  const std::string file = "tests/errors/errors.tsv";
  for (const Fields& line : ReadLines(file, "function\terror\tcause\tnote")) {
    Row row = {line[0], line[1], line[2]};
    if (CodeOf(row.error) == 0) Die(file, "unknown error " + row.error);
    table->rows.push_back(std::move(row));
  }
}

void ReadDeviations(Table* table) {
  const std::string file = "tests/errors/deviations.tsv";
  for (const Fields& line :
       ReadLines(file, "function\terror\tcause\tdecision\treason")) {
    if (line[4].empty()) Die(file, "no reason for " + line[0]);
    table->deviations[{line[0], line[1], line[2]}] = {line[3], line[4]};
  }
}

void ReadPrototypes(Table* table) {
  for (const Fields& line :
       ReadLines("tests/abi/functions.tsv", "function\tc_prototype")) {
    table->prototypes[line[0]].parameters = ParameterNames(line[1]);
  }
  // Where the page is silent ("n/a") they are untouched, too.
  for (const Fields& line : ReadLines("tests/errors/out_parameters.tsv",
                                      "function\tout_params\tout_on_failure")) {
    const Fields names = Split(line[1], ',');
    const Fields on_failure = Split(line[2], ',');
    Prototype& prototype = table->prototypes.at(line[0]);
    for (size_t i = 0; i < names.size(); ++i) {
      const bool nulled = on_failure.at(i) == "set_to_NULL";
      (nulled ? prototype.nulled : prototype.untouched).push_back(names[i]);
    }
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.function << " " << row.error << " " << row.cause;
}

std::string TestNameOf(const Row& row) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"->", "_at_"}, {"!=", "_ne_"}, {"==", "_eq_"}, {"<", "lt"},
      {">", "gt"},    {"&", "_and_"}, {"|", "_or_"},  {"*", "at_"},
  };
  std::string name = row.function + "_" + row.error.substr(7) + "_" + row.cause;
  for (const auto& [sign, word] : kWords) {
    for (size_t at; (at = name.find(sign)) != std::string::npos;) {
      name.replace(at, sign.size(), word);
    }
  }
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

int CodeOf(const std::string& error) {
  static const std::map<std::string, int> kCodes = {
      {"RPMA_E_UNKNOWN", RPMA_E_UNKNOWN},
      {"RPMA_E_NOSUPP", RPMA_E_NOSUPP},
      {"RPMA_E_PROVIDER", RPMA_E_PROVIDER},
      {"RPMA_E_NOMEM", RPMA_E_NOMEM},
      {"RPMA_E_INVAL", RPMA_E_INVAL},
      {"RPMA_E_NO_COMPLETION", RPMA_E_NO_COMPLETION},
      {"RPMA_E_NO_EVENT", RPMA_E_NO_EVENT},
      {"RPMA_E_AGAIN", RPMA_E_AGAIN},
      {"RPMA_E_SHARED_CHANNEL", RPMA_E_SHARED_CHANNEL},
      {"RPMA_E_NOT_SHARED_CHNL", RPMA_E_NOT_SHARED_CHNL},
  };
  const auto found = kCodes.find(error);
  return found != kCodes.end() ? found->second : 0;
}

const Table& Table::Get() {
  static const Table* const kTable = [] {
    auto* const table = new Table;
    ReadRows(table);
    ReadDeviations(table);
    ReadPrototypes(table);
    return table;
  }();
  return *kTable;
}

}  // namespace rpma::test
