// Package files keeps the attachments of tickets on disk, one directory
// per tenant.
package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrName is returned for names that cannot be an attachment.
var ErrName = errors.New("files: invalid attachment name")

// Store reads and writes attachments below a root directory.
type Store struct {
	root string
}

// NewStore returns a store. The root must be an absolute path.
func NewStore(root string) *Store {
	return &Store{root: filepath.Clean(root)}
}

// path returns the place of an attachment on disk.
func (s *Store) path(tenant int64, name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return "", ErrName
	}
	return filepath.Join(s.dir(tenant), name), nil
}

func (s *Store) dir(tenant int64) string {
	return filepath.Join(s.root, strconv.FormatInt(tenant, 10))
}

// Open opens an attachment for reading. The caller closes it.
func (s *Store) Open(tenant int64, name string) (io.ReadCloser, error) {
	path, err := s.path(tenant, name)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Save writes an attachment and replaces one of the same name.
func (s *Store) Save(tenant int64, name string, content []byte) error {
	path, err := s.path(tenant, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir(tenant), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o640)
}
