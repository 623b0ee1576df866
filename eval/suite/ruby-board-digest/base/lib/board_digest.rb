# frozen_string_literal: true

require_relative "directory"

Post = Struct.new(:title, :author_id, :replies, keyword_init: true)

# The weekly mail with what was written on the board.
class BoardDigest
  def initialize(directory)
    @directory = directory
  end

  def text(posts)
    authors = @directory.members(posts.map(&:author_id))
    posts.sort_by { |post| -post.replies }.map do |post|
      "* #{post.title} (#{authors.fetch(post.author_id).name}, #{post.replies} replies)"
    end.join("\n")
  end
end
