#!/bin/sh
# Installs crh into ~/.local/bin. Checks the archive against the release's checksums and, if `gh` is
# logged in, against the attestation of its build.
#
# CRH_INSTALL_DIR   another folder
# CRH_VERSION       another version
# CRH_DOWNLOAD_URL  another place with the archives and SHA256SUMS, such as a mirror
set -eu

name=crh-cli
version=${CRH_VERSION:-@VERSION@}
repository=@REPOSITORY@
folder=${CRH_INSTALL_DIR:-$HOME/.local/bin}
url=${CRH_DOWNLOAD_URL:-https://github.com/$repository/releases/download/v$version}

fail() {
    echo "error: $1" >&2
    exit 1
}

case $(uname -s)-$(uname -m) in
Linux-x86_64) target=x86_64-unknown-linux-musl ;;
Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
Darwin-x86_64) target=x86_64-apple-darwin ;;
Darwin-arm64) target=aarch64-apple-darwin ;;
MINGW* | MSYS*) fail "this script is not for Windows: unpack the .zip of the release into a folder of your PATH" ;;
*) fail "crh has no binary for $(uname -s) on $(uname -m); build it from source with cargo" ;;
esac

archive=$name-$version-$target.tar.gz
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

download() {
    curl --proto '=https,file' --fail --silent --show-error --location --output "$temporary/$1" "$url/$1" ||
        fail "cannot download $url/$1"
}

download "$archive"
download SHA256SUMS
wanted=$(awk -v file="$archive" '$2 == file { print $1 }' "$temporary/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name $archive"
if command -v sha256sum >/dev/null; then
    got=$(sha256sum "$temporary/$archive" | cut -d' ' -f1)
else
    got=$(shasum -a 256 "$temporary/$archive" | cut -d' ' -f1)
fi
[ "$got" = "$wanted" ] || fail "the checksum of $archive is wrong; nothing was installed"

if [ -z "${CRH_DOWNLOAD_URL:-}" ] && command -v gh >/dev/null && gh auth status >/dev/null 2>&1; then
    gh attestation verify "$temporary/$archive" --repo "$repository" ||
        fail "the attestation of $archive does not hold; nothing was installed"
    echo "checked: checksum and attestation"
else
    echo "checked: checksum (to check the attestation, too, log in with \`gh auth login\`)"
fi

tar -xzf "$temporary/$archive" -C "$temporary"
mkdir -p "$folder"
# A rename replaces a program that is running.
cp "$temporary/$name-$version-$target/crh" "$folder/.crh.new"
mv "$folder/.crh.new" "$folder/crh"
echo "installed: $folder/crh"
case :$PATH: in
*:"$folder":*) ;;
*) echo "note: $folder is not in PATH" ;;
esac
