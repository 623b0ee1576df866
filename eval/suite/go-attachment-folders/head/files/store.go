// Package files keeps the attachments of tickets on disk, one directory
// per tenant.
package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// path returns the place of an attachment on disk. The name may have folders
// ("2024/scan.pdf") but must stay inside the tenant's directory.
func (s *Store) path(tenant int64, name string) (string, error) {
	dir := s.dir(tenant)
	path := filepath.Join(dir, filepath.FromSlash(name))
	if path == dir || !strings.HasPrefix(path, dir) {
		return "", ErrName
	}
	return path, nil
}

func (s *Store) dir(tenant int64) string {
	return filepath.Join(s.root, strconv.FormatInt(tenant, 10))
}

// Open opens an attachment for reading. The caller closes it. A folder is
// not an attachment.
func (s *Store) Open(tenant int64, name string) (io.ReadCloser, error) {
	path, err := s.path(tenant, name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Save writes an attachment and replaces one of the same name. Folders in
// the name are created.
func (s *Store) Save(tenant int64, name string, content []byte) error {
	path, err := s.path(tenant, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o640)
}
