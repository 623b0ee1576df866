# frozen_string_literal: true

require_relative "directory"
require_relative "post_line"

Post = Struct.new(:title, :author_id, :replies, keyword_init: true)

# The weekly mail with what was written on the board.
class BoardDigest
  def initialize(directory)
    @directory = directory
  end

  def text(posts)
    posts.sort_by { |post| -post.replies }
         .map { |post| PostLine.new(post, @directory).to_s }
         .join("\n")
  end
end
