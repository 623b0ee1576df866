# frozen_string_literal: true

require "minitest/autorun"
require "tmpdir"
require_relative "../lib/listing"

class ListingTest < Minitest::Test
  def test_listing
    Dir.mktmpdir do |dir|
      File.write(File.join(dir, "b.txt"), "12345")
      File.write(File.join(dir, ".hidden"), "x")
      File.write(File.join(dir, "a b.txt"), "")
      assert_equal "a b.txt\t0\nb.txt\t5", Listing.new(Folder.new(dir)).to_s
    end
  end
end
