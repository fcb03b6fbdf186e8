package runner

import (
	"crypto/rsa"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Algorithms are what may be agreed on with a host, the preferred ones first: what the user's
// ssh configuration allows and railbench has.
type Algorithms struct {
	Ciphers, KeyExchanges, MACs []string
	HostKeys                    []string // of the host's proof
	PublicKeys                  []string // of the user's
	Authorities                 []string // by which the certificate of a host's key is signed
	LeastRSA                    int      // bits of an RSA key, of both
}

// algorithms reads them from a configuration. ssh -G prints whole lists. A configuration that the library
// reads may add to the defaults or remove from them; those are railbench's own. No default uses SHA-1:
// group14-sha1 and ssh-rsa are available to users who ask for them.
func algorithms(get configured, host string) (Algorithms, error) {
	secure, insecure := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	var a Algorithms
	for _, kind := range []struct {
		keyword       string
		to            *[]string
		defaults, old []string
	}{
		{"CASignatureAlgorithms", &a.Authorities, secure.PublicKeyAuths, insecure.PublicKeyAuths},
		{"Ciphers", &a.Ciphers, secure.Ciphers, insecure.Ciphers},
		{"KexAlgorithms", &a.KeyExchanges, secure.KeyExchanges, insecure.KeyExchanges},
		{"MACs", &a.MACs, secure.MACs, insecure.MACs},
		{"HostKeyAlgorithms", &a.HostKeys, secure.HostKeys, insecure.HostKeys},
		{"PubkeyAcceptedAlgorithms", &a.PublicKeys, secure.PublicKeyAuths, insecure.PublicKeyAuths},
	} {
		spec := get.one(kind.keyword)
		if kind.keyword == "PubkeyAcceptedAlgorithms" && spec == "" {
			spec = get.one("PubkeyAcceptedKeyTypes") // its name before OpenSSH 8.5
		}
		*kind.to = allowed(spec, kind.defaults, slices.Concat(kind.defaults, kind.old))
		if len(*kind.to) == 0 {
			return a, fmt.Errorf("the ssh configuration of %s allows nothing for %s that railbench has: it says %s, railbench "+
				"has %s",
				host, kind.keyword, spec, strings.Join(kind.defaults, ","))
		}
	}
	a.LeastRSA = leastRSA
	if bits := get.one("RequiredRSASize"); bits != "" {
		var err error
		if a.LeastRSA, err = strconv.Atoi(bits); err != nil {
			return a, fmt.Errorf("the ssh configuration of %s has the RequiredRSASize %q", host, bits)
		}
	}
	return a, nil
}

// leastRSA is OpenSSH's own limit, in bits.
const leastRSA = 1024

// weak says why a host's key must not be trusted, even if it is signed or known; nil if nothing is wrong.
func (a Algorithms) weak(key ssh.PublicKey) error {
	if cert, ok := key.(*ssh.Certificate); ok {
		if !slices.Contains(a.Authorities, cert.Signature.Format) {
			return fmt.Errorf("its key's certificate is signed with %s, and the ssh configuration allows "+
				"(CASignatureAlgorithms) %s",
				cert.Signature.Format, strings.Join(a.Authorities, ","))
		}
		key = cert.Key
	}
	if bits := sizeRSA(key); bits > 0 && bits < a.LeastRSA {
		return fmt.Errorf("an RSA key of %d bits is used, and the ssh configuration wants %d (RequiredRSASize)", bits,
			a.LeastRSA)
	}
	return nil
}

// sizeRSA is the size of an RSA key in bits, 0 for another kind of key.
func sizeRSA(key ssh.PublicKey) int {
	if holder, ok := key.(ssh.CryptoPublicKey); ok {
		if public, ok := holder.CryptoPublicKey().(*rsa.PublicKey); ok {
			return public.N.BitLen()
		}
	}
	return 0
}

// orDefaults are those of a target that no configuration was looked up for, where it has none.
func (a Algorithms) orDefaults() Algorithms {
	if a.Ciphers == nil {
		a, _ = algorithms(func(string) []string { return nil }, "") // the defaults are not empty
	}
	return a
}

// allowed is what a list of ssh's leaves, of what there is: names and patterns with * and ?,
// after a + added to the defaults, after a - taken from them, after a ^ put before them.
func allowed(spec string, defaults, all []string) []string {
	if spec == "" {
		return defaults
	}
	how := spec[0]
	var named []string
	for pattern := range strings.SplitSeq(strings.TrimLeft(spec, "+-^"), ",") {
		for _, name := range all {
			if ok, err := path.Match(pattern, name); err == nil && ok && !slices.Contains(named, name) {
				named = append(named, name)
			}
		}
	}
	has := func(list []string) func(string) bool {
		return func(name string) bool { return slices.Contains(list, name) }
	}
	switch how {
	case '+':
		return slices.Concat(defaults, slices.DeleteFunc(named, has(defaults)))
	case '-':
		return slices.DeleteFunc(slices.Clone(defaults), has(named))
	case '^':
		return slices.Concat(named, slices.DeleteFunc(slices.Clone(defaults), has(named)))
	default:
		return named
	}
}

// forHost is the order in which a host's keys are asked for: those that are known of it,
// else a host that has several keys would seem changed; all that are allowed where none is.
func (a Algorithms) forHost(known []string) []string {
	both := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(a.HostKeys, name) })
	if len(both) == 0 {
		return a.HostKeys
	}
	return both
}

// signs has a key sign by what is allowed. The library would sign with SHA-1 for an RSA key where
// the host doesn't say what it takes.
func (a Algorithms) signs(s ssh.Signer) ssh.Signer {
	with, ok := s.(ssh.AlgorithmSigner)
	if !ok || s.PublicKey().Type() != ssh.KeyAlgoRSA {
		return s
	}
	ways := slices.DeleteFunc(slices.Clone(a.PublicKeys), func(name string) bool {
		return name != ssh.KeyAlgoRSASHA512 && name != ssh.KeyAlgoRSASHA256 && name != ssh.KeyAlgoRSA
	})
	if bits := sizeRSA(s.PublicKey()); len(ways) == 0 || bits > 0 && bits < a.LeastRSA {
		return nil
	}
	limited, err := ssh.NewSignerWithAlgorithms(with, ways)
	if err != nil {
		return nil
	}
	return limited
}
