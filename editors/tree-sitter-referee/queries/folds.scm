[(block) (comment)] @fold
