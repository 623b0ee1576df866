# frozen_string_literal: true

require "minitest/autorun"
require "open3"
require "tmpdir"
require_relative "../lib/export"

class ExportTest < Minitest::Test
  def setup
    @dir = Dir.mktmpdir
    @home = File.join(@dir, "home")
    Dir.mkdir(@home)
    @target = File.join(@dir, "out.tar.gz")
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  def packed
    list, status = Open3.capture2("tar", "--list", "--gzip", "--quoting-style=literal", "--file", @target)
    assert status.success?
    list
  end

  def test_packs_odd_names
    ["a b.txt", "-rf", "$(touch x)", "--checkpoint=1", "new\nline"].each do |name|
      File.write(File.join(@home, name), name)
    end
    File.write(File.join(@home, ".hidden"), "")
    Export.new(Folder.new(@home)).write(@target)
    assert_equal "$(touch x)\n--checkpoint=1\n-rf\na b.txt\nnew\nline\n", packed
    assert_equal %w[home out.tar.gz], Dir.children(@dir).sort
  end

  def test_empty_folder
    Export.new(Folder.new(@home)).write(@target)
    assert_equal "", packed
  end

  def test_leaves_nothing_behind
    folder = Folder.new(@home)
    folder.define_singleton_method(:names) { ["gone.txt"] }
    assert_raises(Export::Failed) { Export.new(folder).write(@target) }
    assert_equal ["home"], Dir.children(@dir)
  end
end
