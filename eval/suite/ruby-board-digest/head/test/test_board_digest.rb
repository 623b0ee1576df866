# frozen_string_literal: true

require "minitest/autorun"
require_relative "../lib/board_digest"

class FakeHttp
  NAMES = { 1 => %w[Ada North], 2 => %w[Bo South], 3 => ["former member", nil] }.freeze

  def get(path)
    ids = path.delete_prefix("/members?ids=").split(",").map(&:to_i)
    JSON.generate(ids.map { |id| { id: id, name: NAMES[id][0], chapter: NAMES[id][1] } })
  end
end

class BoardDigestTest < Minitest::Test
  def test_most_replies_first
    posts = [
      Post.new(title: "Picnic", author_id: 1, replies: 2),
      Post.new(title: "New boat", author_id: 2, replies: 7),
      Post.new(title: "Lost key", author_id: 1, replies: 0),
      Post.new(title: "Found key", author_id: 3, replies: 1)
    ]
    assert_equal <<~TEXT.chomp, BoardDigest.new(Directory.new(FakeHttp.new)).text(posts)
      * New boat (Bo of South, 7 replies)
      * Picnic (Ada of North, 2 replies)
      * Found key (former member, 1 reply)
      * Lost key (Ada of North, no replies)
    TEXT
  end
end
