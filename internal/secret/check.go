package secret

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The checks return a text as it is kept. Their errors say what is allowed and
// never what was given: it may be secret.

// maxVariable is what Linux lets one variable have with its name, roughly.
const maxVariable = 127 << 10

func anything(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, errors.New("is empty; give its content")
	}
	return text, nil
}

// line is a token or password, usually read from a file that ends with a line end.
func line(text []byte) ([]byte, error) {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	switch {
	case len(text) == 0:
		return nil, errors.New("is empty; give its content")
	case len(text) > 64<<10:
		return nil, errors.New("is longer than 64 KiB; give one line")
	case !utf8.Valid(text), bytes.IndexFunc(text, unicode.IsControl) >= 0:
		return nil, errors.New("has line ends or other control characters; give one line of text")
	}
	return text, nil
}

// variableText is kept as it is, with spaces and line ends.
func variableText(text []byte) ([]byte, error) {
	switch {
	case len(text) > maxVariable:
		return nil, errors.New("is longer than 127 KiB, which no variable can be; make a secret of type mounted")
	case !utf8.Valid(text), bytes.IndexByte(text, 0) >= 0:
		return nil, errors.New("is not text, which a variable must be; make a secret of type mounted")
	}
	return text, nil
}

func jsonText(text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, errors.New("is not JSON; give the file that the cloud's console made")
	}
	return text, nil
}

// privateKey is text with the line ends that ssh insists on.
func privateKey(text []byte) ([]byte, error) {
	text = append(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))), '\n')
	block, _ := pem.Decode(text)
	switch {
	case bytes.HasPrefix(text, []byte("ssh-")), bytes.HasPrefix(text, []byte("ecdsa-")),
		block != nil && strings.HasSuffix(block.Type, "PUBLIC KEY"):
		return nil, errors.New("is a public key; give the private one, the file without .pub")
	case bytes.HasPrefix(text, []byte("PuTTY-")):
		return nil, errors.New("is a key of PuTTY; convert it with 'puttygen KEY -O private-openssh'")
	case block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("is not a private key; give a file that begins with '-----BEGIN … PRIVATE KEY-----'")
	}
	return text, nil
}

// openKey is a private key without a passphrase, which nobody could type.
func openKey(text []byte) ([]byte, error) {
	text, err := privateKey(text)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	locked := strings.HasPrefix(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
	if rest, ok := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00")); ok && len(rest) >= 4 {
		size := binary.BigEndian.Uint32(rest) // of the cipher's name
		locked = uint64(size) > uint64(len(rest)-4) || string(rest[4:4+size]) != "none"
	}
	if locked {
		return nil, errors.New("needs a passphrase, which no task can type; make a copy without one with 'ssh-keygen -p'")
	}
	return text, nil
}

func variableName(text []byte) ([]byte, error) {
	for i, c := range text {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0) {
			text = nil
			break
		}
	}
	if len(text) == 0 || len(text) > 256 {
		return nil, errors.New("is not a variable's name; use letters, digits and '_', not beginning with a digit, such as API_TOKEN")
	}
	return text, nil
}

// word is a name at another system.
func word(text []byte) ([]byte, error) {
	if len(text) == 0 || len(text) > 1024 || !utf8.Valid(text) ||
		bytes.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) >= 0 {
		return nil, errors.New("must be one word of at most 1024 bytes, without spaces")
	}
	return text, nil
}

func server(text []byte) ([]byte, error) {
	if text, err := word(text); err != nil || bytes.ContainsAny(text, "@\"'\\") {
		return nil, errors.New("is not the address of a server; write a host or URL without user and password, such as registry.acme.com")
	}
	return text, nil
}

func absolutePath(text []byte) ([]byte, error) {
	p := string(text)
	if !path.IsAbs(p) || path.Clean(p) != p || p == "/" || len(p) > 1024 || !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		return nil, errors.New("is not a usable path; write an absolute one without '..' and without '/' at its end, such as /run/token")
	}
	return text, nil
}
