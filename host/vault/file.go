package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// version is the version of the file's format. A file of another version stays as it is.
const version = 1

// Bounds of a vault. They are far above what logins need, and limit the cost of a damaged file.
const (
	maxFile    = 16 << 20 // bytes of vault.json
	maxRecords = 1024
	maxValue   = 64 << 10 // bytes of a value
	idSize     = 16
)

// fileV1 is the content of vault.json.
type fileV1 struct {
	Version   int     `json:"version"`
	ID        []byte  `json:"id"`     // random; names the key, and binds records to this vault
	KeySource string  `json:"keeper"` // where the key is
	Check     []byte  `json:"check"`  // a sealed empty text, which only the right key opens
	Last      uint64  `json:"last"`   // the highest generation that was given out, to any record
	Records   records `json:"records"`
}

// record is one value, sealed.
type record struct {
	Key
	Generation uint64    `json:"generation"`
	Stored     time.Time `json:"stored"`
	Sealed     []byte    `json:"sealed"` // nonce, then ciphertext
}

// records is the list of records in a file. Its decoder counts them before it makes them, because
// three bytes of JSON would become a record of 200 bytes.
type records []record

func (rs *records) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if t, _ := d.Token(); t != json.Delim('[') {
		return errors.New("records are not a list")
	}
	list := records{}
	for d.More() {
		if len(list) == maxRecords {
			return fmt.Errorf("there are more than %d records", maxRecords)
		}
		var r record
		if err := d.Decode(&r); err != nil {
			return err
		}
		list = append(list, r)
	}
	*rs = list
	return nil
}

// parse reads a file and trusts nothing in it. Its result could have been written by this
// program, except for the seals, which only the key can check.
func parse(text []byte) (*fileV1, error) {
	b := new(fileV1)
	err := securedir.Parse(text, b)
	if err == nil {
		err = b.validate()
	}
	if err == nil {
		return b, nil
	}
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(text, &head) == nil && head.Version > version {
		err = fmt.Errorf("it is of version %d, and this program knows %d: use the newer program that wrote it", head.Version, version)
	}
	return nil, err
}

func (b *fileV1) validate() error {
	switch {
	case b.Version != version:
		return fmt.Errorf("it is of version %d; expected %d", b.Version, version)
	case len(b.ID) != idSize:
		return fmt.Errorf("its id has %d bytes; expected %d", len(b.ID), idSize)
	case b.KeySource != KeyInKeyring && b.KeySource != KeyInFile:
		return fmt.Errorf("its keeper is %q; expected %q or %q", b.KeySource, KeyInKeyring, KeyInFile)
	case len(b.Check) != sealSize:
		return fmt.Errorf("its check has %d bytes; expected %d", len(b.Check), sealSize)
	case b.Records == nil:
		return errors.New("it has no list of records")
	}
	seen := make(map[Key]bool, len(b.Records))
	for _, r := range b.Records {
		if err := b.admit(r); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
		if seen[r.Key] {
			return fmt.Errorf("record %s is there twice", r.Key)
		}
		seen[r.Key] = true
	}
	return nil
}

func (b *fileV1) admit(r record) error {
	switch size := len(r.Sealed) - sealSize; {
	case r.Generation == 0 || r.Generation > b.Last:
		return fmt.Errorf("its generation is %d; expected 1 to %d", r.Generation, b.Last)
	case size < 0 || size > maxValue:
		return fmt.Errorf("%d sealed bytes; expected %d to %d", len(r.Sealed), sealSize, maxValue+sealSize)
	}
	return r.check()
}

// text returns the text that parse reads. It is an error if the vault is full.
func (b *fileV1) text() ([]byte, error) {
	text, err := json.MarshalIndent(b, "", "\t")
	text = append(text, '\n')
	switch {
	case err != nil:
		return nil, err
	case len(b.Records) > maxRecords || len(text) > maxFile:
		return nil, fmt.Errorf("the vault is full: %d records in %d bytes, of %d in %d at the most; sign out of a server that you no longer need",
			len(b.Records), len(text), maxRecords, maxFile)
	}
	return text, nil
}

// find returns the index of the record of a key, or -1.
func (b *fileV1) find(key Key) int {
	return slices.IndexFunc(b.Records, func(r record) bool { return r.Key == key })
}

// next returns a new generation. It counts for the whole file, and goes on after a Forget. If it
// began again, a flow could forget a newer record instead of the one that it has seen.
func (b *fileV1) next() (uint64, error) {
	if b.Last == math.MaxUint64 {
		return 0, errors.New("the file has no generation left, which no use of it can bring about")
	}
	b.Last++
	return b.Last, nil
}
