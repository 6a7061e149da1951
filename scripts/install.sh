#!/bin/sh
# Installs Muster out of a folder or from an address, after it has compared the
# checksums; removes it again with --uninstall.
set -eu
version=dev
usage() {
  cat <<END
usage: install.sh [--from FOLDER|ADDRESS] [--prefix FOLDER] [--key FILE]
       install.sh --uninstall [--prefix FOLDER]

  --from     where the files of a release are; else the folder of this script,
             and where that has none, the project's releases
  --prefix   where to put bin, share: /usr/local for root, else ~/.local
  --key      public key of whoever signs releases (ssh-ed25519 …): the signature
             of the checksums is verified too
  --uninstall  remove what an installation there has put; workloads and their data stay

This is the installer of Muster $version.
END
}
fail() {
  echo "install.sh: $1" >&2
  [ -z "${2:-}" ] || echo "fix: $2" >&2
  exit 1
}

from='' prefix='' key='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
  --from | --prefix | --key)
    [ $# -ge 2 ] || fail "$1 needs a value" "install.sh --help"
    case $1 in --from) from=$2 ;; --prefix) prefix=$2 ;; --key) key=$2 ;; esac
    shift
    ;;
  --uninstall) uninstall=yes ;;
  --help | -h) usage && exit 0 ;;
  *) fail "$1 is none of its flags" "install.sh --help" ;;
  esac
  shift
done
if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac

# What was put there: a line for each file, and one with a slash at its end for each
# folder that was not there before; ./ is the prefix.
record=$prefix/share/doc/muster/installed

# tidy removes files and then folders, as lists of standard input say it. A folder that
# holds something else by now stays.
tidy() {
  sort -r | while IFS= read -r path; do
    case $path in
    '') ;;
    ./) rmdir "$prefix" 2>/dev/null || : ;;
    */) rmdir "$prefix/$path" 2>/dev/null || : ;;
    *) rm -f "$prefix/$path" ;;
    esac
  done
}

if [ -n "$uninstall" ]; then
  [ -f "$record" ] || fail "there is no installation in $prefix" "name its --prefix"
  list=$(cat "$record")
  echo "$list" | tidy
  echo "Muster is removed from $prefix. The data of servers stays: ~/.local/share/muster, where --data-dir named no other folder."
  exit 0
fi

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no Muster for $(uname -s) that this script installs" "on Windows unpack the .zip" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no Muster for $(uname -m)" "build it: go install github.com/musterhq/muster/cmd/muster" ;;
esac

work=$(mktemp -d)
new='' # files that have been put beside their places and not moved there yet
folders=''
cleanup() {
  status=$?
  rm -rf "$work"
  if [ "$status" != 0 ]; then
    # Nothing has its name yet: what was there goes on to be there.
    printf '%s\n%s\n' "$new" "$folders" | tidy
  fi
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# fetch puts a file of the release into the work folder.
fetch() {
  case $from in
  http://* | https://*)
    if command -v curl >/dev/null 2>&1; then
      curl -fsSL --retry 3 -o "$work/$1" "$from/$1"
    elif command -v wget >/dev/null 2>&1; then
      wget -q -O "$work/$1" "$from/$1"
    else
      fail "neither curl nor wget is here" "install one, or copy the release into a folder and name that with --from"
    fi || fail "$from/$1 cannot be fetched" "check the address and the network"
    ;;
  *) cp "$from/$1" "$work/$1" 2>/dev/null || fail "$from has no $1 that can be read" "name a folder with the files of a release, or its address, with --from" ;;
  esac
}

if [ -z "$from" ]; then
  from=$(cd "$(dirname "$0")" && pwd)
  if [ ! -f "$from/SHA256SUMS" ]; then
    from=https://github.com/musterhq/muster/releases/latest/download
    [ "$version" = dev ] || from=https://github.com/musterhq/muster/releases/download/v$version
  fi
fi
from=${from%/}

fetch SHA256SUMS
if [ -n "$key" ]; then
  [ -f "$key" ] || fail "--key: there is no file $key"
  command -v ssh-keygen >/dev/null 2>&1 || fail "the signature cannot be verified: ssh-keygen is not here" "install OpenSSH's client"
  fetch SHA256SUMS.sig
  echo "release $(cat "$key")" >"$work/signers"
  ssh-keygen -Y verify -f "$work/signers" -I release -n muster -s "$work/SHA256SUMS.sig" <"$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail "the signature of SHA256SUMS is not of the key in $key: nothing was installed" "fetch the release again; if that does not help, tell the project"
fi
archive=$(sed -n "s|^[0-9a-f]*  \(muster_[^/]*_${os}_$arch\.tar\.gz\)\$|\1|p" "$work/SHA256SUMS" | head -n 1)
[ -n "$archive" ] || fail "$from has nothing for $os on $arch" "look into its SHA256SUMS"
fetch "$archive"
want=$(sed -n "s|^\([0-9a-f]*\)  $archive\$|\1|p" "$work/SHA256SUMS")
if command -v sha256sum >/dev/null 2>&1; then
  have=$(sha256sum <"$work/$archive")
else
  have=$(shasum -a 256 <"$work/$archive")
fi
[ "${have%% *}" = "$want" ] ||
  fail "$archive is damaged: its SHA-256 is ${have%% *}, and has to be $want; nothing was installed" "fetch it again"

mkdir "$work/files"
tar -xzf "$work/$archive" -C "$work/files" || fail "$archive cannot be unpacked"
list=$(cd "$work/files" && find . -type f | sed 's|^\./||' | sort)
mark=share/doc/muster/installed

# What an earlier installation made stays on record, and what this one makes comes to it.
before=''
if [ -f "$record" ]; then
  before=$(cat "$record")
else
  for path in $list; do
    [ ! -e "$prefix/$path" ] || fail "$prefix/$path is there, and this script did not put it there: nothing was changed" "remove it, or choose another --prefix"
  done
fi
if [ ! -d "$prefix" ]; then
  mkdir "$prefix" || fail "$prefix cannot be made" "make the folder that it is in, choose another --prefix, or run this as root"
  folders='./'
fi
for path in $list $mark; do
  folder=''
  for name in $(dirname "$path" | tr / ' '); do
    folder=$folder$name/
    [ -d "$prefix/$folder" ] && continue
    mkdir "$prefix/$folder" || fail "$prefix/$folder cannot be made" "choose another --prefix, or run this as root"
    folders="$folders
$folder"
  done
done
for path in $list; do
  new="$new
$path.new"
  cp "$work/files/$path" "$prefix/$path.new" || fail "$prefix/$path cannot be written" "choose another --prefix, or run this as root"
  mode=644
  [ "$path" != bin/muster ] || mode=755
  chmod "$mode" "$prefix/$path.new"
done
new="$new
$mark.new"
{
  echo "$list"
  echo "$mark"
  echo "$folders"
  echo "$before" | grep '/$' || :
} | grep . | sort -u >"$prefix/$mark.new"
"$prefix/bin/muster.new" version --client >/dev/null 2>&1 || fail "the new program does not run on this machine: nothing was changed" "mount $prefix without noexec, or choose another --prefix"

# From here on the names are given. A server that runs goes on with its own program.
for path in $list $mark; do mv -f "$prefix/$path.new" "$prefix/$path"; done
if [ -n "$before" ]; then # files of the earlier version that this one has not
  echo "$before" | grep -v '/$' | while IFS= read -r path; do
    grep -qxF "$path" "$record" || rm -f "$prefix/$path"
  done
fi
echo "Muster is installed: $prefix/bin/muster. To remove it: install.sh --uninstall --prefix $prefix"
case :$PATH: in *":$prefix/bin:"*) ;; *) echo "$prefix/bin is not in your PATH." ;; esac
