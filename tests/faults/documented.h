// SPDX-License-Identifier: BSD-3-Clause
// Which codes the functions of librpma are documented to return.

#ifndef RPMA_TESTS_FAULTS_DOCUMENTED_H_
#define RPMA_TESTS_FAULTS_DOCUMENTED_H_

namespace rpma::faults {

// Reads the table; from then on IsDocumented() does not allocate.
void LoadDocumentedCodes();

// Whether the table of errors has the code for a call with valid arguments.
bool IsDocumented(const char* function, int code);

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_DOCUMENTED_H_
