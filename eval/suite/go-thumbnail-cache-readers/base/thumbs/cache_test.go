package thumbs

import "testing"

func TestDropsTheLeastUsed(t *testing.T) {
	c := NewCache(4)
	c.Put("a", []byte{1, 1})
	c.Put("b", []byte{2, 2})
	c.Get("a")
	c.Put("c", []byte{3, 3})
	if _, ok := c.Get("b"); ok {
		t.Error("b is still there")
	}
	if _, ok := c.Get("a"); !ok {
		t.Error("a is gone")
	}
	if c.Size() != 4 {
		t.Errorf("size = %d", c.Size())
	}
}
