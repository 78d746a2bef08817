package main

import (
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// proofKey is the name of the key that tokens are bound to (RFC 9449). The host
// has one for each server, so that two authorization servers cannot tell by it
// that they know the same person.
const proofKey = "dpop"

// proofAlg picks the algorithm of the key to bind tokens to; "" for none. By default
// the server decides: a server that accepts bound tokens says so in its challenge
// (section 7.1) or in its metadata. Support by the authorization server alone is
// useless.
func (l *login) proofAlg(at *place) (string, error) {
	asked := l.wants.has("dpop") || at.Bound
	if l.settings.DPoP == dpopOff || l.settings.DPoP == dpopAuto && !asked {
		return "", nil
	}
	if at.Server.DPoP == nil {
		return "ES256", nil
	}
	for _, alg := range []string{"ES256", "EdDSA", "PS256", "RS256"} {
		if slices.Contains(at.Server.DPoP, alg) {
			return alg, nil
		}
	}
	return "", auth.Misconfigured("the authorization server takes no proofs that Wharf can make", "it takes: "+brief(list(at.Server.DPoP)))
}

// openProofKey opens the key, if this flow has not done so yet. It must not be called within
// auth.Once, which would not remember it.
func (l *login) openProofKey(alg string) error {
	if alg == "" || l.proving {
		return nil
	}
	_, err := l.Key(auth.Key{Do: step.KeyOpen, Name: proofKey, Alg: alg})
	l.proving = err == nil
	return err
}
