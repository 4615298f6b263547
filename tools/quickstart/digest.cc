// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 by OpenSSL's libcrypto.

#include "tools/quickstart/digest.h"

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

// libcrypto returns 1 on success. Only a build of it without SHA-256, or a lack
// of memory, makes it fail here.
void CheckCrypto(int ok) {
  if (ok != 1) throw Failure("cannot compute SHA-256: libcrypto failed");
}

}  // namespace

std::string Hex(const Sha256& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  CheckCrypto(context_ != nullptr);
  CheckCrypto(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256Stream::Update(const void* data, size_t size) {
  CheckCrypto(EVP_DigestUpdate(context_.get(), data, size));
}

Sha256 Sha256Stream::Finish() {
  Sha256 digest;
  CheckCrypto(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  return digest;
}

}  // namespace rpma::quickstart
